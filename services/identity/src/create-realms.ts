import type { IncomingMessage } from 'node:http'
import { type AccessDirectory, type AuditLog, createGuard, type ServiceRateLimits } from '@atrium/access'
import type { PlatformDeps } from '@atrium/kernel/deps'
import { AppError } from '@atrium/kernel/errors'
import { decodeJwt } from 'jose'
import { identityAccess } from './access.ts'
import { createInteractions } from './adapters/interactions.ts'
import { createMachineProvider, type MachineProviderDeps } from './adapters/machine-provider.ts'
import { createPeopleProvider, type PeopleProviderDeps } from './adapters/people-provider.ts'
import { answerBy, onCurrentKeys } from './adapters/provider-setup.ts'
import type { IdentityConfig } from './config.ts'
import type { AccountsContext, MachineContext, PeopleContext } from './context.ts'
import { createAccountAdministration } from './domain/account-administration.ts'
import type { Accounts } from './domain/accounts.ts'
import type { ClientDirectory } from './domain/client-directory.ts'
import type { IdentityMetrics } from './domain/metrics.ts'
import { createNewcomerInvitations, type InvitationPort } from './domain/newcomers.ts'
import { choosePassword, personOfLink } from './domain/password-links.ts'
import type { PeopleDirectory } from './domain/people-directory.ts'
import { PEOPLE_PAGES, type Realms } from './domain/realms.ts'
import type { RevokedTokens } from './domain/revoked-tokens.ts'
import { createSecretCheck } from './domain/secret-check.ts'
import { createSessions } from './domain/sessions.ts'
import type { SharedThrottle } from './domain/shared-throttle.ts'
import { createPasswordCheck } from './domain/sign-in.ts'
import type { SigningKeys } from './domain/signing-keys.ts'
import type { TrustedIssuer } from './domain/trusted-issuers.ts'
import { createTokenVerifier, type TokenVerifier } from './domain/verify-token.ts'
import { peopleAreElsewhere } from './errors.ts'
import type { Mailer } from './ports.ts'
import type { IdentityDatabase } from './queries/tables.ts'

/** What each process remembers of the database, and must forget in time. */
export interface Caches {
  readonly signingKeys: SigningKeys
  readonly clients: ClientDirectory
  readonly people: PeopleDirectory
  readonly revoked: RevokedTokens
}

/** What identity asks of the portal, which is built after it. */
export interface PortalPort {
  readonly isSuperuser: AccessDirectory['isSuperuser']
  readonly invitations: InvitationPort
}

/** What the realms are made of. */
export interface Parts {
  readonly deps: PlatformDeps & { readonly audit: AuditLog }
  readonly config: IdentityConfig
  readonly db: IdentityDatabase
  readonly realms: Realms
  readonly caches: Caches
  readonly metrics: IdentityMetrics
  readonly accounts: Accounts
  readonly verifier: TokenVerifier
  readonly limits: ServiceRateLimits
  readonly throttle: SharedThrottle
  readonly mail: Mailer | undefined
  readonly portal: () => PortalPort
}

/** The claims of a token of one issuer, when it is good now. */
function introspector(issuer: TrustedIssuer) {
  const { verify } = createTokenVerifier([issuer], () => {})
  return (token: string): Promise<Record<string, unknown> | undefined> =>
    verify(token).then(
      () => decodeJwt(token),
      (error: unknown) => {
        if (error instanceof AppError && error.status === 401) return undefined
        throw error
      },
    )
}

/** The realm that serves machines. */
export function machineContext(
  { deps, realms, caches, metrics, limits, throttle }: Parts,
  issuer: TrustedIssuer,
): MachineContext {
  const addresses = new WeakMap<IncomingMessage, string>()
  const providerDeps: MachineProviderDeps = {
    signingKeys: caches.signingKeys,
    clients: caches.clients,
    revoked: caches.revoked,
    realms,
    checkSecret: createSecretCheck(caches.clients, throttle),
    addresses,
    limits,
    metrics,
    log: deps.log,
    introspect: introspector(issuer),
  }
  const callback = onCurrentKeys(caches.signingKeys, () => createMachineProvider(providerDeps).callback())
  const answer = answerBy(callback, deps.publicUrl)
  return {
    machineRealm: (request, response, origin) => {
      addresses.set(request, origin.address)
      return answer(request, response, origin)
    },
  }
}

/** The realm that serves people, its pages and their sessions. */
export function peopleContext(parts: Parts, issuer: TrustedIssuer): PeopleContext {
  const { deps, config, db, realms, caches, accounts, metrics, throttle } = parts
  const sessions = createSessions(db, {
    lifetimeSeconds: config.sessionSeconds,
    audit: deps.audit,
    onEnd: (qxId) => caches.people.refresh(qxId),
  })
  const providerDeps: PeopleProviderDeps = {
    db,
    signingKeys: caches.signingKeys,
    realms,
    masterKey: deps.masterKey,
    audit: deps.audit,
    accounts,
    sessions,
    applications: config.applications,
    tokenLifetimeSeconds: config.userTokenLifetimeSeconds,
    sessionSeconds: config.sessionSeconds,
    introspect: introspector(issuer),
    log: deps.log,
  }
  const current = onCurrentKeys(caches.signingKeys, () => {
    const provider = createPeopleProvider(providerDeps)
    return {
      callback: provider.callback(),
      interactions: createInteractions(provider, {
        masterKey: deps.masterKey,
        sessions,
        publicUrl: deps.publicUrl,
      }),
    }
  })
  return {
    realms,
    throttle,
    authorizationsPerMinute: config.authorizationsPerMinute,
    guard: guardOf(parts),
    accounts,
    sessions,
    passwords: createPasswordCheck(accounts, throttle, metrics),
    passwordLinks: {
      personOf: (token) => personOfLink(db, token),
      choose: (choice) => choosePassword(accounts, choice),
    },
    invitations: createNewcomerInvitations(accounts, () => parts.portal().invitations),
    peopleRealm: answerBy(() => current().callback, deps.publicUrl),
    interactions: () => current().interactions,
  }
}

/** Superusers are the portal's; identity's table asks for nothing about spaces. */
const directoryOf = ({ portal }: Parts): AccessDirectory => ({
  isSuperuser: (caller) => portal().isSuperuser(caller),
  roleIn: async () => 'no-space',
})

const guardOf = (parts: Parts) =>
  createGuard(
    identityAccess,
    { authenticate: parts.verifier.verify, directory: directoryOf(parts) },
    parts.limits,
  )

/** Other people's accounts; where people come from elsewhere, so do their accounts. */
export function accountsContext(parts: Parts): AccountsContext {
  const { config, db, accounts, realms, mail } = parts
  const passwordPage = `${realms.peopleIssuer}${PEOPLE_PAGES.choosePassword}`
  const administration = createAccountAdministration({ db, accounts, mail, passwordPage })
  return {
    guard: guardOf(parts),
    administration() {
      if (config.users !== undefined) throw peopleAreElsewhere(config.users.issuer)
      return administration
    },
  }
}
