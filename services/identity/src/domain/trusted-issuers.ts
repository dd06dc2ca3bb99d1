import type { CryptoKey, JWTPayload, JWTVerifyGetKey } from 'jose'
import type { IdentityConfig } from '../config.ts'
import { tokenRefused } from '../errors.ts'
import type { ClientDirectory } from './client-directory.ts'
import type { KeyRing } from './key-ring.ts'
import { SIGNING_ALG } from './key-rotation.ts'
import { MACHINE_SCOPE, type Realms } from './realms.ts'

/** Whom a verified token speaks for. */
export type VerifiedToken =
  | { readonly kind: 'user'; readonly qxId: string; readonly name: string }
  | { readonly kind: 'client'; readonly clientId: string; readonly name: string }

/** An issuer whose tokens count, for one kind of caller only: that is what keeps people and machines apart. */
export interface TrustedIssuer {
  readonly issuer: string
  /** Empty: not checked. */
  readonly audiences: readonly string[]
  readonly algorithms: readonly string[]
  /** Media type of the header; undefined where it is not demanded. */
  readonly typ: string | undefined
  readonly clockToleranceSeconds: number
  readonly getKey: JWTVerifyGetKey
  /** @throws AppError 401 when a claim is missing or belongs to the other kind of caller */
  identify(claims: JWTPayload): Promise<VerifiedToken>
  /**
   * Whether a token that was good is so still: true, false, or undefined when only `identify` can tell.
   * Called for every use of a token in the cache.
   */
  stillGood(token: VerifiedToken): boolean | undefined
}

/** Signatures with a public key only: with `none` and HMAC anyone could sign. */
const PUBLIC_KEY_ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]

const textClaim = (claims: JWTPayload, name: string): string | undefined => {
  const value = claims[name]
  return typeof value === 'string' && value !== '' && value.length <= 256 && !value.includes('\0')
    ? value
    : undefined
}

const scopesOf = (claims: JWTPayload): readonly string[] => {
  const scope = claims.scope ?? claims.scp
  if (typeof scope === 'string') return scope.split(' ')
  return Array.isArray(scope) ? scope.filter((item) => typeof item === 'string') : []
}

/** Marks that issuers put into tokens of the client-credentials grant, where no person is. */
function speaksForMachine(claims: JWTPayload): boolean {
  const grant = claims.grant_type ?? claims.gty
  if (grant === 'client_credentials' || grant === 'client-credentials' || claims.idtyp === 'app') return true
  const client = claims.client_id ?? claims.azp
  return client !== undefined && client === claims.sub
}

function demandUse(claims: JWTPayload, use: 'user' | 'client'): void {
  if (claims.token_use !== use) {
    throw tokenRefused('token_claim_invalid', `The token is not a ${use} token of this issuer`)
  }
}

/** People of the embedded issuer, or of the external one that takes its place. */
export function peopleIssuer(
  config: IdentityConfig,
  realms: Realms,
  embeddedKey: JWTVerifyGetKey,
  externalKey: JWTVerifyGetKey | undefined,
): TrustedIssuer {
  const external = config.users
  if (external === undefined || externalKey === undefined) {
    return {
      issuer: realms.peopleIssuer,
      audiences: [realms.audience],
      algorithms: [SIGNING_ALG],
      typ: 'at+jwt',
      clockToleranceSeconds: 5,
      getKey: embeddedKey,
      async identify(claims) {
        demandUse(claims, 'user')
        const qxId = textClaim(claims, 'qxId')
        if (qxId === undefined) throw tokenRefused('token_claim_invalid', 'The token has no qxId')
        return { kind: 'user', qxId, name: textClaim(claims, 'name') ?? qxId }
      },
      stillGood: () => true,
    }
  }
  return {
    issuer: external.issuer,
    audiences: external.audiences,
    algorithms: PUBLIC_KEY_ALGORITHMS,
    typ: undefined,
    clockToleranceSeconds: 30,
    getKey: externalKey,
    async identify(claims) {
      if (speaksForMachine(claims)) {
        throw tokenRefused('token_claim_invalid', 'The token speaks for a machine, not for a person')
      }
      const qxId = textClaim(claims, external.qxIdClaim)
      if (qxId === undefined) {
        throw tokenRefused('token_claim_invalid', `The token has no claim ${external.qxIdClaim}`)
      }
      const name = textClaim(claims, 'name') ?? textClaim(claims, 'preferred_username') ?? qxId
      return { kind: 'user', qxId, name }
    },
    stillGood: () => true,
  }
}

/** Machines of the embedded issuer, or of the external one that takes its place. */
export function machineIssuer(
  config: IdentityConfig,
  realms: Realms,
  clients: ClientDirectory,
  embeddedKey: JWTVerifyGetKey,
  externalKey: JWTVerifyGetKey | undefined,
): TrustedIssuer {
  const external = config.machines
  if (external === undefined || externalKey === undefined) {
    return {
      issuer: realms.machineIssuer,
      audiences: [realms.audience],
      algorithms: [SIGNING_ALG],
      typ: 'at+jwt',
      clockToleranceSeconds: 5,
      getKey: embeddedKey,
      async identify(claims) {
        demandUse(claims, 'client')
        const client = await clients.find(claims.sub ?? '')
        if (client?.status !== 'Active') {
          throw tokenRefused('token_client_inactive', 'The client of this token is not active')
        }
        return { kind: 'client', clientId: client.clientId, name: client.name }
      },
      stillGood(token) {
        const client = token.kind === 'client' ? clients.peek(token.clientId) : null
        return client === undefined ? undefined : client?.status === 'Active'
      },
    }
  }
  return {
    issuer: external.issuer,
    audiences: external.audiences,
    algorithms: PUBLIC_KEY_ALGORITHMS,
    typ: undefined,
    clockToleranceSeconds: 30,
    getKey: externalKey,
    async identify(claims) {
      if (!scopesOf(claims).includes(MACHINE_SCOPE)) {
        throw tokenRefused('token_claim_invalid', `The token lacks the scope ${MACHINE_SCOPE}`)
      }
      const names =
        external.clientIdClaim === undefined ? ['client_id', 'azp', 'sub'] : [external.clientIdClaim]
      const clientId = names.map((name) => textClaim(claims, name)).find((value) => value !== undefined)
      if (clientId === undefined) {
        throw tokenRefused('token_claim_invalid', `The token has no claim ${names.join(' or ')}`)
      }
      return { kind: 'client', clientId, name: textClaim(claims, 'client_name') ?? clientId }
    },
    stillGood: () => true,
  }
}

/** Keys of the embedded issuers, by id and never by anything else in the header. */
export const embeddedKeys =
  (ring: KeyRing): JWTVerifyGetKey =>
  async ({ kid }): Promise<CryptoKey> => {
    const key = typeof kid === 'string' && kid.length <= 128 ? await ring.find(kid) : undefined
    if (key === undefined)
      throw tokenRefused('token_key_unknown', 'The key that signed the token is not known')
    return key.publicKey
  }
