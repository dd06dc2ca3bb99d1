import { type EnvValues, variable } from '@atrium/kernel/config'
import { OperatorError } from '@atrium/kernel/errors'
import { type Application, CONSOLE_CLIENT_ID } from './domain/applications.ts'

const URL_PATTERN = '^https?://[^\\s]+$'

/** Everything that identity reads from the environment. */
export const identityEnv = {
  ATRIUM_USER_ISSUER: variable.string(
    'Issuer of the tokens of people (their `iss`), instead of the embedded one',
    { pattern: URL_PATTERN },
  ),
  ATRIUM_USER_DISCOVERY_URL: variable.string(
    'Discovery document of the people’s issuer, where it is not at `<issuer>/.well-known/openid-configuration`',
    { pattern: URL_PATTERN },
  ),
  ATRIUM_USER_JWKS_URL: variable.string('Keys of the people’s issuer; makes discovery needless', {
    pattern: URL_PATTERN,
  }),
  ATRIUM_USER_AUDIENCE: variable.list('Audiences that tokens of people may have; required with an issuer'),
  ATRIUM_QXID_CLAIM: variable.string('Claim of an external token that holds the person’s qxId', {
    fallback: 'sub',
  }),
  ATRIUM_M2M_ISSUER: variable.string(
    'Issuer of the tokens of machines (their `iss`), instead of the embedded one',
    { pattern: URL_PATTERN },
  ),
  ATRIUM_M2M_DISCOVERY_URL: variable.string(
    'Discovery document of the machines’ issuer, where it is not at `<issuer>/.well-known/openid-configuration`',
    { pattern: URL_PATTERN },
  ),
  ATRIUM_M2M_JWKS_URL: variable.string('Keys of the machines’ issuer; makes discovery needless', {
    pattern: URL_PATTERN,
  }),
  ATRIUM_M2M_AUDIENCE: variable.list(
    'Audiences that tokens of machines may have; not checked when empty, for some issuers put the client’s id there',
  ),
  ATRIUM_CLIENT_ID_CLAIM: variable.string(
    'Claim of an external M2M token that holds the client’s id; else client_id, azp, sub in this order',
  ),
  ATRIUM_CLIENT_TOKEN_LIFETIME: variable.integer(
    'Lifetime in seconds of M2M tokens of clients without one of their own',
    { fallback: 3600, minimum: 60, maximum: 86_400 },
  ),
  ATRIUM_USER_TOKEN_LIFETIME: variable.integer(
    'Lifetime in seconds of the access tokens that people get by signing in',
    { fallback: 3600, minimum: 60, maximum: 86_400 },
  ),
  ATRIUM_SESSION_DAYS: variable.integer('Days after which people must sign in again', {
    fallback: 14,
    minimum: 1,
    maximum: 365,
  }),
  ATRIUM_SIGN_INS_PER_MINUTE: variable.integer(
    'Sign-ins that may be begun a minute from one address (an IPv6 /64), and at once after a rest. Behind a proxy, set ATRIUM_TRUSTED_PROXIES as well',
    { fallback: 120, minimum: 1, maximum: 100_000 },
  ),
  ATRIUM_CONSOLE_REDIRECT_URIS: variable.list(
    'Where the application `atrium-console` may be redirected to after signing in; by default `/callback` of the public address and of loopback',
  ),
  ATRIUM_APPLICATIONS: variable.list(
    'More applications that people sign in to, each `<clientId>=<redirect URI>`; a client id may come again with another URI',
  ),
  SMTP_URL: variable.string(
    'Mail server, e.g. `smtps://user:password@mail.example:465` or `smtp://mail.example:587` (STARTTLS is demanded unless `?tls=never`); without it nothing is mailed',
    { secret: true, pattern: '^smtps?://[^\\s]+$' },
  ),
  ATRIUM_MAIL_FROM: variable.string(
    'Sender of e-mails, e.g. `Atrium <atrium@example.com>`; required with SMTP_URL',
  ),
  ATRIUM_KEY_ROTATION_DAYS: variable.integer('Age in days at which the signing key is replaced', {
    fallback: 90,
    minimum: 1,
    maximum: 3650,
  }),
  ATRIUM_IDENTITY_RATE_LIMIT: variable.integer(
    'Requests a minute to identity from one user, from one machine client at one address, and from one address (an IPv6 /64) as long as nobody is known there; off by default. Behind a proxy, set ATRIUM_TRUSTED_PROXIES as well',
    { minimum: 1 },
  ),
  ATRIUM_IDENTITY_RATE_LIMIT_BURST: variable.integer(
    'Requests that one of them may send at once after a rest; the limit of a minute by default',
    { minimum: 1 },
  ),
} as const

export type IdentityEnv = EnvValues<typeof identityEnv>

/** An issuer that somebody else runs. */
export interface ExternalIssuer {
  readonly issuer: string
  readonly discoveryUrl: string
  readonly jwksUrl: string | undefined
  /** Empty: not checked. */
  readonly audiences: readonly string[]
}

export interface IdentityConfig {
  readonly users: (ExternalIssuer & { readonly qxIdClaim: string }) | undefined
  readonly machines: (ExternalIssuer & { readonly clientIdClaim: string | undefined }) | undefined
  readonly defaultTokenLifetimeSeconds: number
  readonly rotationDays: number
  readonly userTokenLifetimeSeconds: number
  readonly sessionSeconds: number
  readonly authorizationsPerMinute: number
  readonly applications: readonly Application[]
  readonly mail: { readonly smtpUrl: string; readonly from: string } | undefined
}

const wellKnown = (issuer: string): string => `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`

/** @throws OperatorError when the variables contradict each other */
export function readConfig(env: IdentityEnv, publicUrl: string): IdentityConfig {
  const config: IdentityConfig = {
    users:
      env.ATRIUM_USER_ISSUER === undefined
        ? undefined
        : {
            issuer: env.ATRIUM_USER_ISSUER,
            discoveryUrl: env.ATRIUM_USER_DISCOVERY_URL ?? wellKnown(env.ATRIUM_USER_ISSUER),
            jwksUrl: env.ATRIUM_USER_JWKS_URL,
            audiences: env.ATRIUM_USER_AUDIENCE,
            qxIdClaim: env.ATRIUM_QXID_CLAIM,
          },
    machines:
      env.ATRIUM_M2M_ISSUER === undefined
        ? undefined
        : {
            issuer: env.ATRIUM_M2M_ISSUER,
            discoveryUrl: env.ATRIUM_M2M_DISCOVERY_URL ?? wellKnown(env.ATRIUM_M2M_ISSUER),
            jwksUrl: env.ATRIUM_M2M_JWKS_URL,
            audiences: env.ATRIUM_M2M_AUDIENCE,
            clientIdClaim: env.ATRIUM_CLIENT_ID_CLAIM,
          },
    defaultTokenLifetimeSeconds: env.ATRIUM_CLIENT_TOKEN_LIFETIME,
    rotationDays: env.ATRIUM_KEY_ROTATION_DAYS,
    userTokenLifetimeSeconds: env.ATRIUM_USER_TOKEN_LIFETIME,
    sessionSeconds: env.ATRIUM_SESSION_DAYS * 86_400,
    authorizationsPerMinute: env.ATRIUM_SIGN_INS_PER_MINUTE,
    applications: readApplications(env, publicUrl),
    mail: readMail(env),
  }
  checkIssuers(config)
  return config
}

function checkIssuers({ users, machines }: IdentityConfig): void {
  if (users !== undefined && users.audiences.length === 0) {
    throw new OperatorError(
      'ATRIUM_USER_AUDIENCE must be set with ATRIUM_USER_ISSUER: without it, a token made for any application of that issuer would open Atrium.',
    )
  }
  if (users === undefined || machines === undefined || users.issuer !== machines.issuer) return
  const shared = machines.audiences.filter((audience) => users.audiences.includes(audience))
  if (machines.audiences.length === 0 || shared.length > 0) {
    throw new OperatorError(
      'ATRIUM_USER_ISSUER and ATRIUM_M2M_ISSUER are the same, so ATRIUM_USER_AUDIENCE and ATRIUM_M2M_AUDIENCE must both be set and have nothing in common: otherwise people and machines could not be told apart.',
    )
  }
}

const LOOPBACK_CALLBACKS = ['http://127.0.0.1/callback', 'http://[::1]/callback', 'http://localhost/callback']

function readApplications(env: IdentityEnv, publicUrl: string): Application[] {
  const given = env.ATRIUM_CONSOLE_REDIRECT_URIS
  const uris = new Map<string, string[]>()
  uris.set(CONSOLE_CLIENT_ID, given.length > 0 ? given : [`${publicUrl}/callback`, ...LOOPBACK_CALLBACKS])
  for (const entry of env.ATRIUM_APPLICATIONS) {
    const match = /^([\w.-]{1,128})=(.+)$/.exec(entry)
    if (match?.[1] === undefined || match[2] === undefined) {
      throw new OperatorError(`ATRIUM_APPLICATIONS: ${entry} must be <clientId>=<redirect URI>`)
    }
    uris.set(match[1], [...(uris.get(match[1]) ?? []), match[2]])
  }
  for (const uri of [...uris.values()].flat()) checkRedirectUri(uri)
  return [...uris].map(([clientId, redirectUris]) => ({
    clientId,
    name: clientId === CONSOLE_CLIENT_ID ? 'the Atrium console' : clientId,
    redirectUris,
  }))
}

function checkRedirectUri(uri: string): void {
  const url = URL.parse(uri)
  const isWrong = url === null || url.hash !== '' || /^(?:javascript|data|file|blob):$/.test(url.protocol)
  if (isWrong)
    throw new OperatorError(`${uri} cannot be a redirect URI: it must be absolute, without a fragment`)
}

function readMail(env: IdentityEnv): IdentityConfig['mail'] {
  if (env.SMTP_URL === undefined) return undefined
  if (env.ATRIUM_MAIL_FROM === undefined) {
    throw new OperatorError('ATRIUM_MAIL_FROM must be set with SMTP_URL: mails need a sender.')
  }
  return { smtpUrl: env.SMTP_URL, from: env.ATRIUM_MAIL_FROM }
}
