import type { Guard } from '@atrium/access'
import type { agentsAccess } from '../access.ts'

export type AgentsGuard = Guard<keyof typeof agentsAccess>
