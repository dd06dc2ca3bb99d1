import type { Guard } from '@atrium/access'
import type { portalAccess } from '../access.ts'

export type PortalGuard = Guard<keyof typeof portalAccess>
