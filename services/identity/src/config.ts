import { type EnvValues, variable } from '@atrium/kernel/config'
import { OperatorError } from '@atrium/kernel/errors'

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
  ATRIUM_KEY_ROTATION_DAYS: variable.integer('Age in days at which the signing key is replaced', {
    fallback: 90,
    minimum: 1,
    maximum: 3650,
  }),
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
}

const wellKnown = (issuer: string): string => `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`

/** @throws OperatorError when the variables contradict each other */
export function readConfig(env: IdentityEnv): IdentityConfig {
  const config: IdentityConfig = {
    users:
      env.ATRIUM_USER_ISSUER === undefined
        ? undefined
        : {
            issuer: env.ATRIUM_USER_ISSUER,
            discoveryUrl: env.ATRIUM_USER_DISCOVERY_URL ?? wellKnown(env.ATRIUM_USER_ISSUER),
            jwksUrl: env.ATRIUM_USER_JWKS_URL,
            audiences: env.ATRIUM_USER_AUDIENCE,
            qxIdClaim: env.ATRIUM_QXID_CLAIM ?? 'sub',
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
    defaultTokenLifetimeSeconds: env.ATRIUM_CLIENT_TOKEN_LIFETIME ?? 3600,
    rotationDays: env.ATRIUM_KEY_ROTATION_DAYS ?? 90,
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
