import { type Act, type AuditLog, createRateLimits, rateLimitOf, systemAct } from '@atrium/access'
import type { EnvValues } from '@atrium/kernel/config'
import type { SealedColumn } from '@atrium/kernel/crypto'
import type { PlatformDeps } from '@atrium/kernel/deps'
import { isUnavailable, notFound, OperatorError } from '@atrium/kernel/errors'
import { type HttpServer, mountService } from '@atrium/kernel/http'
import type { Job } from '@atrium/kernel/jobs'
import { Closers, every } from '@atrium/kernel/lifecycle'
import { createMailer } from './adapters/mailer.ts'
import { createRemoteJwks, type RemoteJwks } from './adapters/remote-jwks.ts'
import { type ExternalIssuer, type identityEnv, readConfig } from './config.ts'
import { OAuthError } from './contract/index.ts'
import type { Caches, Parts, PortalPort } from './create-realms.ts'
import { type Accounts, createAccounts } from './domain/accounts.ts'
import { createClientDirectory } from './domain/client-directory.ts'
import { type Clients, createClients } from './domain/clients.ts'
import { ensureSigningKey, rotateSigningKeys, sealPurpose } from './domain/key-rotation.ts'
import { createIdentityMetrics } from './domain/metrics.ts'
import { createPeopleDirectory } from './domain/people-directory.ts'
import { demandNoClientId } from './domain/principal-ids.ts'
import { PEOPLE_PAGES, realmsOf } from './domain/realms.ts'
import { createRevokedTokens } from './domain/revoked-tokens.ts'
import { createSharedThrottle } from './domain/shared-throttle.ts'
import { createSigningKeys } from './domain/signing-keys.ts'
import { embeddedKeys, machineIssuer, peopleIssuer, type VerifiedToken } from './domain/trusted-issuers.ts'
import { signUserToken, type UserTokenRequest } from './domain/user-tokens.ts'
import { createTokenVerifier, type TokenVerifier } from './domain/verify-token.ts'
import { oauthError } from './errors.ts'
import { deleteExpiredJob } from './jobs/delete-expired.ts'
import { rotateKeysJob } from './jobs/rotate-keys.ts'
import type { Mailer } from './ports.ts'
import { CLIENTS_CHANNEL } from './queries/clients.ts'
import { PEOPLE_CHANNEL } from './queries/people.ts'
import { REVOKED_CHANNEL } from './queries/revoked-tokens.ts'
import { KEYS_CHANNEL } from './queries/signing-keys.ts'
import { identityDatabase } from './queries/tables.ts'

/** How the reference groups the operations. */
const TAGS = [
  {
    name: 'Machine tokens',
    description: 'Client credentials: tokens, introspection, revocation, keys (RFC 6749, 7009, 7662, 8414)',
  },
  {
    name: 'People’s tokens',
    description: 'Authorization code with PKCE, refresh, user info and logout (OpenID Connect)',
  },
  { name: 'Pages', description: 'Where people sign in, choose passwords and accept invitations' },
  { name: 'Sessions', description: 'Where a person is signed in' },
  { name: 'Accounts', description: 'Who can sign in, for superusers' },
]

export { identityAccess } from './access.ts'
export type { Account, Accounts } from './domain/accounts.ts'
export type { Client, Clients, NewClient } from './domain/clients.ts'
export type { InvitationPort, Proof } from './domain/newcomers.ts'
export { claimPersonId } from './domain/principal-ids.ts'
export type { VerifiedToken } from './domain/trusted-issuers.ts'
export type { UserTokenRequest } from './domain/user-tokens.ts'
export type { TokenFault } from './errors.ts'
export type { Mailer } from './ports.ts'
export type { ClientStatus } from './queries/tables.ts'
export { identityEnv, identityMigrations } from './setup.ts'

/** What the master key seals here. */
export const identitySealed: readonly SealedColumn[] = [
  {
    schema: 'identity',
    table: 'signing_keys',
    column: 'sealed_private_jwk',
    key: 'kid',
    purposeOf: sealPurpose,
  },
]

/** What other services, commands and the first start use, in any process on identity's database. */
export interface IdentityPorts {
  /** Whom a bearer token speaks for. @throws AppError 401 that says why, 503 when an issuer is unreachable */
  verifyToken(token: string): Promise<VerifiedToken>
  /**
   * A token for a person, noted in the audit log where an act is given.
   * @throws AppError 400, 409 for a client's id, OperatorError when people sign in at an external issuer
   */
  mintUserToken(user: UserTokenRequest, act?: Act): Promise<string>
  /** Publishes a new signing key; it signs after `signsInSeconds` (120; 0 after a leak). */
  rotateKeys(signsInSeconds?: number, act?: Act): Promise<{ kid: string; signsFrom: Date }>
  readonly accounts: Accounts
  readonly clients: Clients
  /** Undefined where no mail server is configured. */
  readonly mail: Mailer | undefined
  /** Where somebody without an account accepts an invitation; undefined where people sign in elsewhere. */
  readonly invitationPage: string | undefined
  close(): Promise<void>
}

export interface Identity extends IdentityPorts {
  /** Adds the routes below `/auth`. */
  mount(app: HttpServer): Promise<void>
  readonly jobs: Job[]
}

export type IdentityPortsDeps = PlatformDeps & {
  readonly env: EnvValues<typeof identityEnv>
  readonly audit: AuditLog
}

export type IdentityDeps = IdentityPortsDeps & {
  /** Built after identity, and asked when requests come; without it nobody is superuser and nobody is invited. */
  readonly portal?: () => PortalPort
}

const NO_PORTAL: PortalPort = {
  isSuperuser: async () => false,
  invitations: {
    open: () => Promise.reject(notFound('Invitation')),
    acceptAsNewcomer: () => Promise.reject(notFound('Invitation')),
  },
}

const POLL_MS = 10_000

/** The ports, with what they share with the realms. */
async function openPorts(deps: IdentityPortsDeps) {
  const { log, masterKey, audit } = deps
  const config = readConfig(deps.env, deps.publicUrl)
  const realms = realmsOf(deps.publicUrl)
  const db = identityDatabase(deps.pool)
  const metrics = createIdentityMetrics(deps.metrics)
  const closers = new Closers()

  const rotation = { db, masterKey, audit }
  await ensureSigningKey(rotation)
  const signingKeys = await createSigningKeys(db, masterKey)
  const caches: Caches = {
    signingKeys,
    clients: createClientDirectory(db, deps.pool.outage),
    people: createPeopleDirectory(db, deps.pool.outage),
    revoked: createRevokedTokens(db, deps.pool.outage, audit),
  }
  const remote = (issuer: ExternalIssuer | undefined): RemoteJwks | undefined => {
    if (issuer === undefined) return undefined
    const jwks = createRemoteJwks({ discoveryUrl: issuer.discoveryUrl, jwksUrl: issuer.jwksUrl, log })
    closers.add(`keys of ${issuer.issuer}`, () => jwks.close())
    return jwks
  }
  const keys = embeddedKeys(signingKeys)
  const machines = machineIssuer(config, realms, caches, keys, remote(config.machines)?.getKey)
  const people = peopleIssuer(config, realms, caches.people, keys, remote(config.users)?.getKey)
  const verifier = createTokenVerifier([machines, people], metrics.tokenRefused)
  await follow(deps, { ...caches, verifier }, closers)

  const accounts = createAccounts(db, audit, (qxId) => caches.people.refresh(qxId))
  const mail =
    config.mail === undefined ? undefined : createMailer({ ...config.mail, publicUrl: deps.publicUrl, log })
  const ports: IdentityPorts = {
    verifyToken: verifier.verify,
    async mintUserToken(user, act) {
      if (config.users !== undefined) {
        throw new OperatorError(
          `People sign in at ${config.users.issuer} (ATRIUM_USER_ISSUER), so only that issuer can make their tokens.`,
        )
      }
      await demandNoClientId(db, user.qxId)
      const token = await signUserToken(signingKeys, realms, user)
      if (act !== undefined) {
        const resource = { spaceId: null, resourceType: 'account', resourceId: user.qxId }
        await audit.record(db, act, { ...resource, after: { minted: 'a user token' } })
      }
      return token
    },
    async rotateKeys(signsInSeconds, act = systemAct('rotateKeys')) {
      const made = await rotateSigningKeys(rotation, act, signsInSeconds)
      await signingKeys.refresh()
      return made
    },
    accounts,
    clients: createClients(db, { tokenLifetimeSeconds: config.defaultTokenLifetimeSeconds }),
    mail,
    invitationPage:
      config.users === undefined ? `${realms.peopleIssuer}${PEOPLE_PAGES.invitation}` : undefined,
    close: () => closers.close(),
  }
  const shared = { config, db, realms, caches, metrics, accounts, verifier, mail }
  return { ports, shared, rotation, machines, people }
}

/**
 * The ports alone, for a process that does not serve identity. On a migrated database.
 * @throws OperatorError when the environment contradicts itself or the master key does not fit the database
 */
export const createIdentityPorts = async (deps: IdentityPortsDeps): Promise<IdentityPorts> =>
  (await openPorts(deps)).ports

/** @throws OperatorError when the environment contradicts itself or the master key does not fit the database */
export async function createIdentity(deps: IdentityDeps): Promise<Identity> {
  const { ports, shared, rotation, machines, people } = await openPorts(deps)
  const { config, db } = shared
  // The OAuth server is large, and whoever uses the ports alone does not need it.
  const [{ accountsContext, machineContext, peopleContext }, { identityRoutes }] = await Promise.all([
    import('./create-realms.ts'),
    import('./routes/index.ts'),
  ])
  const limits = createRateLimits({
    ...deps,
    service: 'identity',
    limit: rateLimitOf(deps.env.ATRIUM_IDENTITY_RATE_LIMIT, deps.env.ATRIUM_IDENTITY_RATE_LIMIT_BURST),
  })
  const throttle = createSharedThrottle(db, deps.log)
  const parts: Parts = { ...shared, deps, limits, throttle, portal: deps.portal ?? (() => NO_PORTAL) }
  const contexts = {
    machines: config.machines === undefined ? machineContext(parts, machines) : undefined,
    people: config.users === undefined ? peopleContext(parts, people) : undefined,
    accounts: accountsContext(parts),
  }
  return {
    ...ports,
    jobs: [rotateKeysJob({ ...rotation, days: config.rotationDays, log: deps.log }), deleteExpiredJob(db)],
    mount: (app) =>
      mountService(app, {
        prefix: '/auth',
        title: 'Atrium identity',
        description:
          'Tokens for machines by client credentials and for people who sign in, and the keys that verify them.',
        tags: TAGS,
        version: '1.0.0',
        formatError: oauthError,
        errorBody: OAuthError,
        routes: (scope) => identityRoutes(scope, contexts, limits),
      }),
  }
}

/** Keeps the caches in step with the other processes: by announcements, and by polling in case one is lost. */
async function follow(
  { notifications, log }: IdentityPortsDeps,
  caches: Caches & { readonly verifier: TokenVerifier },
  closers: Closers,
): Promise<void> {
  const { signingKeys, clients, people, revoked, verifier } = caches
  let closed = false
  // A key may have been withdrawn, and with it what it signed.
  signingKeys.onChange(() => verifier.forgetAll())
  const readKeys = (): Promise<void> => signingKeys.refresh()
  const report = (error: unknown): void => {
    if (closed || isUnavailable(error)) return
    log.error({ err: error }, 'reading the signing keys failed; those known stay in use')
  }
  closers.add('cache subscriptions', () => {
    closed = true
  })
  closers.add('signing key poll', every(POLL_MS, readKeys, report))
  await notifications.subscribe(KEYS_CHANNEL, () => {
    if (!closed) readKeys().catch(report)
  })
  await notifications.subscribe(CLIENTS_CHANNEL, (clientId) => clients.refresh(clientId))
  await notifications.subscribe(PEOPLE_CHANNEL, (qxId) => people.refresh(qxId))
  await notifications.subscribe(REVOKED_CHANNEL, (jti) => revoked.refresh(jti))
  notifications.onGap(() => {
    for (const cache of [clients, people, revoked]) cache.outdate()
    if (!closed) readKeys().catch(report)
  })
}
