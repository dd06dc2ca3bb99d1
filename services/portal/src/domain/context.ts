import type { AccessDirectory, GuardDeps } from '@atrium/access'
import type { EnvValues } from '@atrium/kernel/config'
import type { Pool } from '@atrium/kernel/db'
import type { portalEnv } from '../config.ts'
import type { PortalDb } from '../queries/tables.ts'
import type { AccessChanges } from './access-changes.ts'
import type { DatabaseCheck } from './health.ts'

/** What the portal's handlers work with; made once, in `createPortal`. */
export interface PortalContext {
  readonly db: PortalDb
  /** For the few reads that are prepared statements. */
  readonly pool: Pool
  readonly env: EnvValues<typeof portalEnv>
  readonly environmentName: string
  readonly access: GuardDeps & { readonly directory: AccessDirectory }
  readonly changes: AccessChanges
  readonly checkDatabase: DatabaseCheck
  readonly isDraining: () => boolean
}
