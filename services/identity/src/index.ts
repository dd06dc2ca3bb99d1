import { fileURLToPath } from 'node:url'
import type { EnvValues } from '@atrium/kernel/config'
import type { MigrationSet } from '@atrium/kernel/db'
import type { PlatformDeps } from '@atrium/kernel/deps'
import { OperatorError } from '@atrium/kernel/errors'
import { type HttpServer, mountService } from '@atrium/kernel/http'
import type { Job } from '@atrium/kernel/jobs'
import { Closers, every } from '@atrium/kernel/lifecycle'
import { createMailer, type Mailer } from './adapters/mailer.ts'
import { createRemoteJwks, type RemoteJwks } from './adapters/remote-jwks.ts'
import { type ExternalIssuer, type identityEnv, readConfig } from './config.ts'
import { type Accounts, createAccounts } from './domain/accounts.ts'
import { createClientDirectory } from './domain/client-directory.ts'
import { type Clients, createClients } from './domain/clients.ts'
import { createKeyRing } from './domain/key-ring.ts'
import { ensureSigningKey, rotateSigningKeys } from './domain/key-rotation.ts'
import { createIdentityMetrics } from './domain/metrics.ts'
import { createPeopleDirectory } from './domain/people-directory.ts'
import { realmsOf } from './domain/realms.ts'
import { createRevokedTokens } from './domain/revoked-tokens.ts'
import { embeddedKeys, machineIssuer, peopleIssuer, type VerifiedToken } from './domain/trusted-issuers.ts'
import { signUserToken, type UserTokenRequest } from './domain/user-tokens.ts'
import { createTokenVerifier, type TokenVerifier } from './domain/verify-token.ts'
import { oauthError } from './errors.ts'
import { deleteExpiredJob } from './jobs/delete-expired.ts'
import { rotateKeysJob } from './jobs/rotate-keys.ts'
import { CLIENTS_CHANNEL } from './queries/clients.ts'
import { PEOPLE_CHANNEL } from './queries/people.ts'
import { REVOKED_CHANNEL } from './queries/revoked-tokens.ts'
import { KEYS_CHANNEL } from './queries/signing-keys.ts'
import { identityDatabase } from './queries/tables.ts'
import { type Caches, machineContext, type Parts, peopleContext } from './realm-contexts.ts'
import { identityRoutes } from './routes/index.ts'

export { identityAccess } from './access.ts'
export type { Mailer } from './adapters/mailer.ts'
export { identityEnv } from './config.ts'
export type { Account, Accounts } from './domain/accounts.ts'
export type { Client, Clients, NewClient } from './domain/clients.ts'
export type { VerifiedToken } from './domain/trusted-issuers.ts'
export type { UserTokenRequest } from './domain/user-tokens.ts'
export type { TokenFault } from './errors.ts'
export type { ClientStatus } from './queries/tables.ts'

export const identityMigrations: MigrationSet = {
  schema: 'identity',
  folder: fileURLToPath(new URL('../migrations', import.meta.url)),
}

export interface Identity {
  /** Adds the routes below `/auth`. */
  mount(app: HttpServer): Promise<void>
  /** Whom a bearer token speaks for. @throws AppError 401 that says why, 503 when an issuer is unreachable */
  verifyToken(token: string): Promise<VerifiedToken>
  /** A token for a person. @throws OperatorError when people sign in at an external issuer */
  mintUserToken(user: UserTokenRequest): Promise<string>
  /** Publishes a new signing key; it signs after `signsInSeconds` (120; 0 after a leak). */
  rotateKeys(signsInSeconds?: number): Promise<{ kid: string; signsFrom: Date }>
  readonly accounts: Accounts
  readonly clients: Clients
  /** Undefined where no mail server is configured. */
  readonly mail: Mailer | undefined
  readonly jobs: Job[]
  close(): Promise<void>
}

export type IdentityDeps = PlatformDeps & { readonly env: EnvValues<typeof identityEnv> }

const POLL_MS = 10_000

/** @throws OperatorError when the environment contradicts itself or the master key does not fit the database */
export async function createIdentity(deps: IdentityDeps): Promise<Identity> {
  const { log, masterKey } = deps
  const config = readConfig(deps.env, deps.publicUrl)
  const realms = realmsOf(deps.publicUrl)
  const db = identityDatabase(deps.pool)
  const metrics = createIdentityMetrics(deps.metrics)
  const closers = new Closers()

  await ensureSigningKey(db, masterKey)
  const ring = await createKeyRing(db, masterKey)
  const caches: Caches = {
    ring,
    clients: createClientDirectory(db),
    people: createPeopleDirectory(db),
    revoked: createRevokedTokens(db),
  }
  const remote = (issuer: ExternalIssuer | undefined): RemoteJwks | undefined => {
    if (issuer === undefined) return undefined
    const jwks = createRemoteJwks({ discoveryUrl: issuer.discoveryUrl, jwksUrl: issuer.jwksUrl, log })
    closers.add(`keys of ${issuer.issuer}`, () => jwks.close())
    return jwks
  }
  const keys = embeddedKeys(ring)
  const machines = machineIssuer(config, realms, caches, keys, remote(config.machines)?.getKey)
  const people = peopleIssuer(config, realms, caches.people, keys, remote(config.users)?.getKey)
  const verifier = createTokenVerifier([machines, people], metrics.tokenRefused)
  await follow(deps, { ...caches, verifier }, closers)

  const accounts = createAccounts(db, caches.people.forget)
  const parts: Parts = { deps, config, db, realms, caches, metrics, accounts, verifier }
  const contexts = {
    machines: config.machines === undefined ? machineContext(parts, machines) : undefined,
    people: config.users === undefined ? peopleContext(parts, people) : undefined,
  }

  return {
    mount: (app) =>
      mountService(app, {
        prefix: '/auth',
        title: 'Atrium identity',
        description:
          'Tokens for machines by client credentials and for people who sign in, and the keys that verify them.',
        version: '1.0.0',
        formatError: oauthError,
        routes: (scope) => identityRoutes(scope, contexts),
      }),
    verifyToken: verifier.verify,
    async mintUserToken(user) {
      if (config.users !== undefined) {
        throw new OperatorError(
          `People sign in at ${config.users.issuer} (ATRIUM_USER_ISSUER), so only that issuer can make their tokens.`,
        )
      }
      return signUserToken(ring, realms, user)
    },
    async rotateKeys(signsInSeconds) {
      const made = await rotateSigningKeys(db, masterKey, signsInSeconds)
      await ring.refresh()
      return made
    },
    accounts,
    clients: createClients(db, { tokenLifetimeSeconds: config.defaultTokenLifetimeSeconds }),
    mail:
      config.mail === undefined
        ? undefined
        : createMailer({ ...config.mail, publicUrl: deps.publicUrl, log }),
    jobs: [rotateKeysJob({ db, masterKey, days: config.rotationDays, log }), deleteExpiredJob(db)],
    close: () => closers.close(),
  }
}

/** Keeps the caches in step with the other processes: by announcements, and by polling in case one is lost. */
async function follow(
  { notifications, log }: IdentityDeps,
  caches: Caches & { readonly verifier: TokenVerifier },
  closers: Closers,
): Promise<void> {
  const { ring, clients, people, revoked, verifier } = caches
  let closed = false
  const readKeys = async (): Promise<void> => {
    const before = ring.published()
    await ring.refresh()
    // A key may have been withdrawn, and with it what it signed.
    if (ring.published() !== before) verifier.forgetAll()
  }
  const report = (error: unknown): void => {
    if (!closed) log.error({ err: error }, 'reading the signing keys failed; those known stay in use')
  }
  closers.add('cache subscriptions', () => {
    closed = true
  })
  closers.add('signing key poll', every(POLL_MS, readKeys, report))
  await notifications.subscribe(KEYS_CHANNEL, () => {
    if (!closed) readKeys().catch(report)
  })
  await notifications.subscribe(CLIENTS_CHANNEL, clients.forget)
  await notifications.subscribe(PEOPLE_CHANNEL, people.forget)
  await notifications.subscribe(REVOKED_CHANNEL, revoked.forget)
  notifications.onGap(() => {
    for (const cache of [clients, people, revoked]) cache.forgetAll()
    if (!closed) readKeys().catch(report)
  })
}
