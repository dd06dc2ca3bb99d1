import { createIngress, createRateLimits, type GuardDeps, type Ingress, rateLimitOf } from '@atrium/access'
import type { IdentityPorts, InvitationPort } from '@atrium/identity'
import type { EnvValues } from '@atrium/kernel/config'
import { createDatabase } from '@atrium/kernel/db'
import type { PlatformDeps } from '@atrium/kernel/deps'
import { type HttpServer, mountService } from '@atrium/kernel/http'
import type { Job } from '@atrium/kernel/jobs'
import { createFlagProvider } from './adapters/flags/create-flag-provider.ts'
import type { portalEnv } from './config.ts'
import type { PortalContext } from './context.ts'
import { ErrorBody } from './contract/common.ts'
import { createAccessChanges } from './domain/access-changes.ts'
import { ApiKeyDirectory, type LimitedKey } from './domain/api-key-directory.ts'
import { createAuthenticate } from './domain/authentication.ts'
import { type BudgetLeases, createBudgetLeases } from './domain/budget-leases.ts'
import { recordUsage, type UsageCost } from './domain/costs.ts'
import { createDirectory } from './domain/directory.ts'
import { createFeatureFlags } from './domain/feature-flags.ts'
import { createDatabaseCheck } from './domain/health.ts'
import { acceptInvitation, openInvitation } from './domain/invitations.ts'
import { createKeyUseRecorder } from './domain/key-use.ts'
import { ensureSuperuser, ensureSuperuserClient } from './domain/superusers.ts'
import { removeSpacesJob } from './jobs/remove-spaces.ts'
import { createAccessQueries } from './queries/access.ts'
import { writeKeyUses } from './queries/api-keys.ts'
import { selectGoneSpaces } from './queries/deleted-spaces.ts'
import type { PortalTables, StatementRunner } from './queries/tables.ts'
import { portalRoutes } from './routes/index.ts'

/** How the reference groups the operations. */
const TAGS = [
  { name: 'Health', description: 'Whether the portal is there' },
  { name: 'Permissions', description: 'What the caller may do' },
  { name: 'Spaces', description: 'Tenants: everything else belongs to one' },
  { name: 'Space users', description: 'Who works in a space, and as what' },
  { name: 'Invitations', description: 'People who are asked to join a space' },
  { name: 'API keys', description: 'Keys to the models, for a space’s applications' },
  { name: 'Workspaces', description: 'Kubeflow workspaces of a space' },
  { name: 'Data-hub links', description: 'Ties of a space to the company’s data hub' },
  { name: 'Costs', description: 'What a space’s use costs' },
  { name: 'Budgets', description: 'What a space and its keys may spend in a month' },
  { name: 'Audit log', description: 'Who changed what' },
  { name: 'Superusers', description: 'Who administers the whole platform' },
  { name: 'Machine clients', description: 'Programs that sign in, and their roles in spaces' },
  { name: 'Feature flags', description: 'Features that are on for the caller' },
]

export { portalAccess } from './access.ts'
export type { LimitedKey } from './domain/api-key-directory.ts'
export { auditLog } from './domain/audit.ts'
export type { BudgetLeases } from './domain/budget-leases.ts'
export type { UsageCost } from './domain/costs.ts'
export { portalEnv, portalMigrations } from './setup.ts'

export interface PortalPortsDeps extends PlatformDeps {
  readonly env: EnvValues<typeof portalEnv>
  readonly verifyToken: IdentityPorts['verifyToken']
}

export interface PortalDeps extends PortalPortsDeps {
  /** Shown by `/health`, e.g. `production`. */
  readonly environmentName: string
  readonly identityClients: IdentityPorts['clients']
  readonly invitationPage?: IdentityPorts['invitationPage']
  /** Undefined where no mail can be sent: secrets and invitations are then in the answers. */
  readonly mail?: IdentityPorts['mail']
  /** Turns readiness off while the server drains. */
  readonly isDraining?: () => boolean
}

/** What other services and the first start use, in any process on the portal's database. */
export interface PortalPorts {
  /** Who calls and what they are, for every service's guard. Changes hold in every process within one second. */
  readonly access: GuardDeps
  readonly keys: {
    /** The key with its limits, or undefined when it is unknown, revoked or expired. A few microseconds for a key in use. */
    findKey(rawKey: string): Promise<LimitedKey | undefined>
  }
  readonly costs: {
    /** Records gateway use as cost inside the caller's transaction, in two statements whatever the number of rows. */
    recordUsage(trx: StatementRunner, rows: readonly UsageCost[]): Promise<void>
  }
  readonly budgets: BudgetLeases
  readonly spaces: {
    /** Those of the given spaces whose data every service removes: they were deleted, and nobody can bring them back. */
    goneAmong(spaceIds: readonly string[]): Promise<string[]>
    /** Whether there is such a space and nobody has deleted it, by what is known for less than a second. */
    isOpen(spaceId: string): Promise<boolean>
  }
  /** For the first start: this person is superuser from now on. */
  makeSuperuser(person: { qNumber: string; name: string; mailAddress?: string }): Promise<void>
  /** For the first start: this machine client is superuser from now on. */
  makeSuperuserClient(client: { clientId: string; name: string }): Promise<void>
  /** For identity's pages, where invited people make their account. */
  readonly invitations: InvitationPort
  /** Writes what is still to be written. The pool stays open: it is the caller's. */
  close(): Promise<void>
}

export interface Portal extends PortalPorts {
  /** Adds the routes below `/portal`. */
  mount(app: HttpServer): Promise<void>
  readonly jobs: Job[]
}

/** A caller of no space: of each, the directory knows whether it is there. */
const NOBODY = { kind: 'key', keyId: '', spaceId: '', name: '' } as const

/** The ports, with what they share with the routes. Starts listening for changes of rights. */
async function openPorts(deps: PortalPortsDeps) {
  const { pool, env, log } = deps
  const db = createDatabase<PortalTables>(pool)
  const changes = await createAccessChanges(db, deps.notifications)
  const queries = createAccessQueries(pool, env.ATRIUM_CURRENCY)
  const directory = createDirectory(queries, changes, pool.outage)
  const keyUse = createKeyUseRecorder({
    everyMs: env.ATRIUM_KEY_USE_SECONDS * 1000,
    write: (uses) => writeKeyUses(db, uses),
    log,
  })
  const keys = new ApiKeyDirectory({ queries, changes, outage: pool.outage, onUse: keyUse.note })
  const access = {
    directory,
    authenticate: createAuthenticate(deps.verifyToken, keys),
    ingress: ingressOf(deps),
  }
  const invitationKeys = deps.masterKey.deriveAll('portal/invitations')
  const shared = { db, changes, access, invitationKeys }
  const ports: PortalPorts = {
    access,
    keys: {
      async findKey(rawKey) {
        const lookup = await keys.find(rawKey)
        return lookup.status === 'valid' ? lookup.principal : undefined
      },
    },
    costs: { recordUsage },
    budgets: createBudgetLeases(db, env.ATRIUM_CURRENCY),
    invitations: {
      open: (token) => openInvitation(shared, token),
      acceptAsNewcomer: async (token, act, make) => void (await acceptInvitation(shared, token, act, make)),
    },
    spaces: {
      goneAmong: (spaceIds) => selectGoneSpaces(db, spaceIds),
      isOpen: async (spaceId) => (await directory.roleIn(NOBODY, spaceId)) !== 'no-space',
    },
    makeSuperuser: (person) => ensureSuperuser(shared, person),
    makeSuperuserClient: (client) => ensureSuperuserClient(shared, client),
    close: () => keyUse.close(),
  }
  return { ports, shared }
}

/** The ports alone, for a process that does not serve the portal. On a migrated database. */
export const createPortalPorts = async (deps: PortalPortsDeps): Promise<PortalPorts> =>
  (await openPorts(deps)).ports

/** Builds the portal on a migrated database. */
export async function createPortal(deps: PortalDeps): Promise<Portal> {
  const { pool, env, log } = deps
  const { ports, shared } = await openPorts(deps)
  const flags = await createFeatureFlags(createFlagProvider(env, log))
  const ctx: PortalContext = {
    ...shared,
    pool,
    env,
    environmentName: deps.environmentName,
    limits: createRateLimits({
      ...deps,
      service: 'portal',
      limit: rateLimitOf(env.ATRIUM_PORTAL_RATE_LIMIT, env.ATRIUM_PORTAL_RATE_LIMIT_BURST),
    }),
    flags,
    checkDatabase: createDatabaseCheck(pool),
    identityClients: deps.identityClients,
    mail: deps.mail,
    publicUrl: deps.publicUrl,
    invitationPage: deps.invitationPage,
    isDraining: deps.isDraining ?? (() => false),
  }

  return {
    ...ports,
    jobs: [removeSpacesJob(shared.db)],
    mount: (app) =>
      mountService(app, {
        prefix: '/portal',
        title: 'Atrium portal',
        description: 'Spaces, their users, API keys, permissions and costs.',
        tags: TAGS,
        version: '1.0.0',
        formatError: ({ status, message }) => ({ error: { code: status, message } }),
        errorBody: ErrorBody,
        routes: (scope) => portalRoutes(scope, ctx),
      }),
    close: async () => {
      await flags.close()
      await ports.close()
    },
  }
}

function ingressOf({ env, verifyToken, publicUrl }: PortalPortsDeps): Ingress | undefined {
  if (env.ATRIUM_INGRESS_ADDRESSES.length === 0) return undefined
  return createIngress({
    addresses: env.ATRIUM_INGRESS_ADDRESSES,
    userHeader: env.ATRIUM_INGRESS_USER_HEADER,
    nameHeader: env.ATRIUM_INGRESS_NAME_HEADER,
    tokenHeader: env.ATRIUM_INGRESS_TOKEN_HEADER,
    secret: env.ATRIUM_INGRESS_SECRET,
    verifyToken,
    publicUrl,
  })
}
