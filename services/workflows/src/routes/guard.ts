import type { Guard } from '@atrium/access'
import type { workflowsAccess } from '../access.ts'

export type WorkflowsGuard = Guard<keyof typeof workflowsAccess>
