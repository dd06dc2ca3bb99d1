import type { AccessDirectory, GuardDeps, RateLimits } from '@atrium/access'
import type { IdentityPorts } from '@atrium/identity'
import type { EnvValues } from '@atrium/kernel/config'
import type { Pool } from '@atrium/kernel/db'
import type { portalEnv } from './config.ts'
import type { AccessChanges } from './domain/access-changes.ts'
import type { FeatureFlags } from './domain/feature-flags.ts'
import type { DatabaseCheck } from './domain/health.ts'
import type { PortalDb } from './queries/tables.ts'

/** What the portal's handlers work with; made once, in `createPortal`. */
export interface PortalContext {
  readonly db: PortalDb
  /** For the few reads that are prepared statements. */
  readonly pool: Pool
  readonly env: EnvValues<typeof portalEnv>
  readonly environmentName: string
  readonly access: GuardDeps & { readonly directory: AccessDirectory }
  readonly limits: RateLimits
  readonly changes: AccessChanges
  readonly flags: FeatureFlags
  readonly checkDatabase: DatabaseCheck
  /** Secrets and status of machine clients. */
  readonly identityClients: IdentityPorts['clients']
  /** Undefined where no mail can be sent. */
  readonly mail: IdentityPorts['mail']
  /** The platform's origin, for links in mails. */
  readonly publicUrl: string
  /** Where somebody without an account accepts an invitation; undefined where accounts are not Atrium's. */
  readonly invitationPage: string | undefined
  /** The first signs invitations; those that another one signed are good as well. */
  readonly invitationKeys: readonly [Buffer, ...Buffer[]]
  readonly isDraining: () => boolean
}
