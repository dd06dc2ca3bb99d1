import type { CryptoKey, JWTPayload, JWTVerifyGetKey } from 'jose'
import type { IdentityConfig } from '../config.ts'
import { tokenRefused } from '../errors.ts'
import type { ClientDirectory, KnownClient } from './client-directory.ts'
import { SIGNING_ALG } from './key-rotation.ts'
import { demandLivingToken, endOfToken, issuedAt, isYoung, type PeopleDirectory } from './people-directory.ts'
import { MACHINE_SCOPE, type Realms } from './realms.ts'
import type { RevokedTokens } from './revoked-tokens.ts'
import type { SigningKeys } from './signing-keys.ts'

/** Whom a verified token speaks for. */
export type VerifiedToken =
  | {
      readonly kind: 'user'
      readonly qxId: string
      readonly name: string
      /** The sign-in that the token comes from; absent where an operator minted it or an external issuer made it. */
      readonly sessionId?: string
    }
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
  stillGood(token: VerifiedToken, claims: JWTPayload): boolean | undefined
}

/** Signatures with a public key only: with `none` and HMAC anyone could sign. */
const PUBLIC_KEY_ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
]

const EMBEDDED_TOLERANCE_SECONDS = 5

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
  directory: PeopleDirectory,
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
      clockToleranceSeconds: EMBEDDED_TOLERANCE_SECONDS,
      getKey: embeddedKey,
      async identify(claims) {
        demandUse(claims, 'user')
        const qxId = textClaim(claims, 'qxId')
        if (qxId === undefined) throw tokenRefused('token_claim_invalid', 'The token has no qxId')
        await demandLivingToken(directory, qxId, claims)
        const sessionId = textClaim(claims, 'sid')
        return {
          kind: 'user',
          qxId,
          name: textClaim(claims, 'name') ?? qxId,
          ...(sessionId === undefined ? {} : { sessionId }),
        }
      },
      stillGood(token, claims) {
        const person = token.kind === 'user' ? directory.peek(token.qxId) : undefined
        return person === undefined ? undefined : endOfToken(person, claims) === undefined
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

/** No token outlives its client: one that is older than the client was issued to another of the same id. */
const isOlderThan = (client: KnownClient, claims: JWTPayload): boolean =>
  ((claims.iat ?? 0) + 1 + EMBEDDED_TOLERANCE_SECONDS) * 1000 < client.createdAt

/** What was issued before the client was disabled stays dead when it is enabled again. */
const isEnded = (client: KnownClient, claims: JWTPayload): boolean =>
  client.status !== 'Active' || isOlderThan(client, claims) || issuedAt(claims) < client.tokensValidFrom

/** Most clients never revoke a token: theirs are not looked up one by one. */
const mayBeRevoked = (client: KnownClient): boolean => client.revocationsUntil > Date.now()

/** Machines of the embedded issuer, or of the external one that takes its place. */
export function machineIssuer(
  config: IdentityConfig,
  realms: Realms,
  { clients, revoked }: { clients: ClientDirectory; revoked: RevokedTokens },
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
      clockToleranceSeconds: EMBEDDED_TOLERANCE_SECONDS,
      getKey: embeddedKey,
      async identify(claims) {
        demandUse(claims, 'client')
        let client = await clients.find(claims.sub ?? '')
        if ((client === undefined || isEnded(client, claims)) && isYoung(claims)) {
          client = await clients.findAnew(claims.sub ?? '')
        }
        if (client === undefined || isEnded(client, claims)) {
          throw tokenRefused('token_client_inactive', 'The client of this token is not active')
        }
        if (mayBeRevoked(client) && (await revoked.has(claims.jti ?? ''))) {
          throw tokenRefused('token_revoked', 'The token was revoked')
        }
        return { kind: 'client', clientId: client.clientId, name: client.name }
      },
      stillGood(token, claims) {
        const client = token.kind === 'client' ? clients.peek(token.clientId) : null
        if (client === undefined) return undefined
        if (client === null || isEnded(client, claims)) return false
        if (!mayBeRevoked(client)) return true
        const isRevoked = revoked.peek(claims.jti ?? '')
        return isRevoked === undefined ? undefined : !isRevoked
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
  (signingKeys: SigningKeys): JWTVerifyGetKey =>
  async ({ kid }): Promise<CryptoKey> => {
    const key = typeof kid === 'string' && kid.length <= 128 ? await signingKeys.find(kid) : undefined
    if (key === undefined)
      throw tokenRefused('token_key_unknown', 'The key that signed the token is not known')
    return key.publicKey
  }
