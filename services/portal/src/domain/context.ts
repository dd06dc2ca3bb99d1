import type { AccessDirectory, GuardDeps } from '@atrium/access'
import type { Identity } from '@atrium/identity'
import type { EnvValues } from '@atrium/kernel/config'
import type { Pool } from '@atrium/kernel/db'
import type { portalEnv } from '../config.ts'
import type { PortalDb } from '../queries/tables.ts'
import type { AccessChanges } from './access-changes.ts'
import type { FeatureFlags } from './feature-flags.ts'
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
  readonly flags: FeatureFlags
  readonly checkDatabase: DatabaseCheck
  /** Secrets and status of machine clients. */
  readonly identityClients: Identity['clients']
  /** Undefined where no mail can be sent. */
  readonly mail: Identity['mail']
  /** The platform's origin, for links in mails. */
  readonly publicUrl: string
  /** Signs invitations. */
  readonly invitationKey: Buffer
  readonly isDraining: () => boolean
}
