import { fileURLToPath } from 'node:url'
import type { GuardDeps } from '@atrium/access'
import type { Identity } from '@atrium/identity'
import type { EnvValues } from '@atrium/kernel/config'
import { createDatabase, type MigrationSet } from '@atrium/kernel/db'
import type { PlatformDeps } from '@atrium/kernel/deps'
import { type HttpServer, mountService } from '@atrium/kernel/http'
import type { Job } from '@atrium/kernel/jobs'
import { createFlagProvider } from './adapters/flags/create-flag-provider.ts'
import type { portalEnv } from './config.ts'
import { createAccessChanges } from './domain/access-changes.ts'
import { type Act, type AuditChange, recordAudit } from './domain/audit.ts'
import { createAuthenticate } from './domain/authentication.ts'
import type { PortalContext } from './domain/context.ts'
import { recordUsage, type UsageCost } from './domain/costs.ts'
import { createDirectory } from './domain/directory.ts'
import { createFeatureFlags } from './domain/feature-flags.ts'
import { createDatabaseCheck } from './domain/health.ts'
import { KeyRing, type LimitedKey } from './domain/key-ring.ts'
import { createKeyUseRecorder } from './domain/key-use.ts'
import { ensureSuperuser, ensureSuperuserClient } from './domain/superusers.ts'
import { createAccessQueries } from './queries/access.ts'
import { writeKeyUses } from './queries/api-keys.ts'
import type { PortalTables, StatementRunner } from './queries/tables.ts'
import { portalRoutes } from './routes/index.ts'

export { portalAccess } from './access.ts'
export { portalEnv } from './config.ts'
export type { Act, AuditChange } from './domain/audit.ts'
export type { UsageCost } from './domain/costs.ts'
export type { LimitedKey } from './domain/key-ring.ts'

export const portalMigrations: MigrationSet = {
  schema: 'portal',
  folder: fileURLToPath(new URL('../migrations', import.meta.url)),
}

export interface PortalDeps extends PlatformDeps {
  readonly env: EnvValues<typeof portalEnv>
  /** Shown by `/health`, e.g. `production`. */
  readonly environmentName: string
  readonly verifyToken: Identity['verifyToken']
  readonly identityClients: Identity['clients']
  /** Undefined where no mail can be sent: secrets and invitations are then in the answers. */
  readonly mail?: Identity['mail']
  /** Turns readiness off while the server drains. */
  readonly isDraining?: () => boolean
}

export interface Portal {
  /** Adds the routes below `/portal`. */
  mount(app: HttpServer): Promise<void>
  /** Who calls and what they are, for every service's guard. Changes hold in every process within one second. */
  readonly access: GuardDeps
  readonly keys: {
    /** The key with its limits, or undefined when it is unknown, revoked or expired. A few microseconds for a key in use. */
    findKey(rawKey: string): Promise<LimitedKey | undefined>
  }
  readonly audit: {
    /** Notes what an act did, in the caller's transaction. Secrets and hashes are masked by their names. */
    record(trx: StatementRunner, act: Act, change: AuditChange): Promise<void>
  }
  readonly costs: {
    /** Records gateway use as cost inside the caller's transaction, in two statements whatever the number of rows. */
    recordUsage(trx: StatementRunner, rows: readonly UsageCost[]): Promise<void>
  }
  /** For the first start: this person is superuser from now on. */
  makeSuperuser(person: { qNumber: string; name: string; mailAddress?: string }): Promise<void>
  /** For the first start: this machine client is superuser from now on. */
  makeSuperuserClient(client: { clientId: string; name: string }): Promise<void>
  readonly jobs: Job[]
  /** Writes what is still to be written. The pool stays open: it is the caller's. */
  close(): Promise<void>
}

/** Builds the portal on a migrated database and starts listening for changes of rights. */
export async function createPortal(deps: PortalDeps): Promise<Portal> {
  const { pool, env, log } = deps
  const flags = await createFeatureFlags(createFlagProvider(env, log))
  const db = createDatabase<PortalTables>(pool)
  const changes = await createAccessChanges(db, deps.notifications)
  const queries = createAccessQueries(pool, env.ATRIUM_CURRENCY ?? 'USD')
  const directory = createDirectory(queries, changes)
  const keyUse = createKeyUseRecorder({
    everyMs: (env.ATRIUM_KEY_USE_SECONDS ?? 10) * 1000,
    write: (uses) => writeKeyUses(db, uses),
    log,
  })
  const keys = new KeyRing(queries, changes, keyUse.note)
  const access = { directory, authenticate: createAuthenticate(deps.verifyToken, keys) }
  const ctx: PortalContext = {
    db,
    pool,
    env,
    environmentName: deps.environmentName,
    access,
    changes,
    flags,
    checkDatabase: createDatabaseCheck(pool),
    identityClients: deps.identityClients,
    mail: deps.mail,
    publicUrl: deps.publicUrl,
    invitationKey: deps.masterKey.derive('portal/invitations'),
    isDraining: deps.isDraining ?? (() => false),
  }

  return {
    access,
    keys: {
      async findKey(rawKey) {
        const lookup = await keys.find(rawKey)
        return lookup.status === 'valid' ? lookup.principal : undefined
      },
    },
    audit: { record: recordAudit },
    costs: { recordUsage },
    jobs: [],
    mount: (app) =>
      mountService(app, {
        prefix: '/portal',
        title: 'Atrium portal',
        description: 'Spaces, their users, API keys, permissions and costs.',
        version: '1.0.0',
        formatError: ({ status, message }) => ({ error: { code: status, message } }),
        routes: (scope) => portalRoutes(scope, ctx),
      }),
    makeSuperuser: (person) => ensureSuperuser(ctx, person),
    makeSuperuserClient: (client) => ensureSuperuserClient(ctx, client),
    close: async () => {
      await flags.close()
      await keyUse.close()
    },
  }
}
