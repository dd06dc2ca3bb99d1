import type { IncomingMessage } from 'node:http'
import { type AccessDirectory, createGuard } from '@atrium/access'
import type { PlatformDeps } from '@atrium/kernel/deps'
import { decodeJwt } from 'jose'
import { identityAccess } from './access.ts'
import { createInteractions } from './adapters/interactions.ts'
import { createMachineProvider, type MachineProviderDeps } from './adapters/machine-provider.ts'
import { createPeopleProvider, type PeopleProviderDeps } from './adapters/people-provider.ts'
import { onCurrentKeys } from './adapters/provider-setup.ts'
import type { IdentityConfig } from './config.ts'
import type { Accounts } from './domain/accounts.ts'
import { createAttemptThrottle } from './domain/attempt-throttle.ts'
import type { ClientDirectory } from './domain/client-directory.ts'
import type { KeyRing } from './domain/key-ring.ts'
import type { IdentityMetrics } from './domain/metrics.ts'
import type { PeopleDirectory } from './domain/people-directory.ts'
import type { Realms } from './domain/realms.ts'
import type { RevokedTokens } from './domain/revoked-tokens.ts'
import { createSessions } from './domain/sessions.ts'
import { createPasswordCheck } from './domain/sign-in.ts'
import type { TrustedIssuer } from './domain/trusted-issuers.ts'
import { createTokenVerifier, type TokenVerifier } from './domain/verify-token.ts'
import type { IdentityDatabase } from './queries/tables.ts'
import type { MachineContext, PeopleContext } from './routes/context.ts'

/** What each process remembers of the database, and must forget in time. */
export interface Caches {
  readonly ring: KeyRing
  readonly clients: ClientDirectory
  readonly people: PeopleDirectory
  readonly revoked: RevokedTokens
}

/** What the realms are made of. */
export interface Parts {
  readonly deps: PlatformDeps
  readonly config: IdentityConfig
  readonly db: IdentityDatabase
  readonly realms: Realms
  readonly caches: Caches
  readonly metrics: IdentityMetrics
  readonly accounts: Accounts
  readonly verifier: TokenVerifier
}

/** The claims of a token of one issuer, when it is good now. */
function introspector(issuer: TrustedIssuer) {
  const { verify } = createTokenVerifier([issuer], () => {})
  return (token: string): Promise<Record<string, unknown> | undefined> =>
    verify(token).then(
      () => decodeJwt(token),
      () => undefined,
    )
}

/** The realm that serves machines. */
export function machineContext(
  { deps, realms, caches, metrics }: Parts,
  issuer: TrustedIssuer,
): MachineContext {
  const addresses = new WeakMap<IncomingMessage, string>()
  const providerDeps: MachineProviderDeps = {
    ring: caches.ring,
    clients: caches.clients,
    revoked: caches.revoked,
    realms,
    throttle: createAttemptThrottle({ burst: 10, everySeconds: 6, capacity: 10_000 }),
    addresses,
    metrics,
    log: deps.log,
    introspect: introspector(issuer),
  }
  const answer = onCurrentKeys(caches.ring, () => createMachineProvider(providerDeps).callback())
  return {
    publicUrl: deps.publicUrl,
    machineRealm: () => (request, response, address) => {
      addresses.set(request, address)
      return answer()(request, response)
    },
  }
}

/** The realm that serves people, its pages and their sessions. */
export function peopleContext(parts: Parts, issuer: TrustedIssuer): PeopleContext {
  const { deps, config, db, realms, caches, accounts, metrics, verifier } = parts
  const sessions = createSessions(db, {
    lifetimeSeconds: config.sessionSeconds,
    onEnd: caches.people.forget,
  })
  const providerDeps: PeopleProviderDeps = {
    db,
    ring: caches.ring,
    realms,
    masterKey: deps.masterKey,
    accounts,
    sessions,
    applications: config.applications,
    tokenLifetimeSeconds: config.userTokenLifetimeSeconds,
    sessionSeconds: config.sessionSeconds,
    introspect: introspector(issuer),
    log: deps.log,
  }
  const current = onCurrentKeys(caches.ring, () => {
    const provider = createPeopleProvider(providerDeps)
    return {
      answer: provider.callback(),
      interactions: createInteractions(provider, { masterKey: deps.masterKey, sessions }),
    }
  })
  return {
    publicUrl: deps.publicUrl,
    realms,
    guard: createGuard(identityAccess, { authenticate: verifier.verify, directory: NO_ROLES }),
    accounts,
    sessions,
    passwords: createPasswordCheck(accounts, metrics),
    peopleRealm: () => (request, response) => current().answer(request, response),
    interactions: () => current().interactions,
  }
}

/** Whoever calls is all that identity's table asks for; spaces and superusers are the portal's. */
const NO_ROLES: AccessDirectory = {
  isSuperuser: async () => false,
  roleIn: async () => 'no-space',
}
