import { hash } from 'node:crypto'
import { AppError } from '@atrium/kernel/errors'
import {
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JWTPayload,
  jwtVerify,
  type ProtectedHeaderParameters,
} from 'jose'
import { LRUCache } from 'lru-cache'
import { tokenRefused } from '../errors.ts'
import type { TrustedIssuer, VerifiedToken } from './trusted-issuers.ts'

export interface TokenVerifier {
  /** @throws AppError 401 that says why, 503 when an external issuer's keys cannot be had */
  verify(token: string): Promise<VerifiedToken>
  /** Forgets every verified token; needed when a signing key is withdrawn. */
  forgetAll(): void
}

/** Longer ones are refused unread: no issuer makes them, and hashing them costs. */
const LONGEST_TOKEN = 8192
const CAPACITY = 20_000

interface CacheEntry {
  readonly token: VerifiedToken
  readonly issuer: TrustedIssuer
  readonly claims: JWTPayload
  /** Milliseconds of the epoch. */
  readonly expiresAt: number
}

const malformed = (why: string): AppError => tokenRefused('token_malformed', `The token is malformed: ${why}`)

function decode(token: string): { header: ProtectedHeaderParameters; claims: JWTPayload } {
  try {
    return { header: decodeProtectedHeader(token), claims: decodeJwt(token) }
  } catch {
    throw malformed('it is not a JSON Web Token')
  }
}

const audiencesOf = (claims: JWTPayload): readonly string[] =>
  typeof claims.aud === 'string' ? [claims.aud] : Array.isArray(claims.aud) ? claims.aud : []

/** Two trusted issuers may share a name; then the audience decides, and a token for both is for neither. */
function chooseIssuer(issuers: readonly TrustedIssuer[], claims: JWTPayload): TrustedIssuer {
  const named = issuers.filter(({ issuer }) => issuer === claims.iss)
  const [only, second] = named
  if (only === undefined) {
    throw tokenRefused('token_issuer_unknown', 'The issuer of the token is not known here')
  }
  if (second === undefined) return only
  const given = audiencesOf(claims)
  const fitting = named.filter(({ audiences }) => audiences.some((audience) => given.includes(audience)))
  const [one, another] = fitting
  if (one === undefined || another !== undefined) {
    throw tokenRefused('token_audience_wrong', 'The token is not meant for this platform')
  }
  return one
}

/** Translates what the library found into our own codes and sentences. */
function refusalOf(error: unknown): unknown {
  if (error instanceof AppError) return error
  if (error instanceof errors.JWTExpired) return tokenRefused('token_expired', 'The token has expired')
  if (error instanceof errors.JWTClaimValidationFailed) {
    if (error.claim === 'nbf' && error.reason === 'check_failed') {
      return tokenRefused('token_not_yet_valid', 'The token is not valid yet')
    }
    if (error.claim === 'aud') {
      return tokenRefused('token_audience_wrong', 'The token is not meant for this platform')
    }
    return tokenRefused('token_claim_invalid', `The claim ${error.claim} of the token is missing or wrong`)
  }
  if (error instanceof errors.JWSSignatureVerificationFailed) {
    return tokenRefused('token_signature_invalid', 'The signature of the token is wrong')
  }
  if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) {
    return tokenRefused('token_key_unknown', 'The key that signed the token is not known')
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return algorithmRefused()
  // What is left concerns the token's form.
  if (error instanceof errors.JOSEError) return malformed('its header or claims cannot be used')
  return error
}

const algorithmRefused = (): AppError =>
  tokenRefused('token_algorithm_not_allowed', 'The token is signed with an algorithm that is not allowed')

async function verifyAgainst(issuer: TrustedIssuer, token: string): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, issuer.getKey, {
      issuer: issuer.issuer,
      algorithms: [...issuer.algorithms],
      ...(issuer.audiences.length === 0 ? {} : { audience: [...issuer.audiences] }),
      ...(issuer.typ === undefined ? {} : { typ: issuer.typ }),
      clockTolerance: issuer.clockToleranceSeconds,
      requiredClaims: ['exp'],
    })
    return payload
  } catch (error) {
    throw refusalOf(error)
  }
}

/**
 * Verifies tokens of the given issuers. A token that was good is remembered by its hash until it
 * expires; whether its client is still active is looked up at each use.
 * @param onRefused called with the code of each refusal
 */
export function createTokenVerifier(
  issuers: readonly TrustedIssuer[],
  onRefused: (code: string) => void,
): TokenVerifier {
  const cache = new LRUCache<string, CacheEntry>({ max: CAPACITY })
  /** What was verified before a withdrawal is not remembered after it. */
  let withdrawals = 0

  async function verifyAnew(token: string, key: string): Promise<VerifiedToken> {
    const { header, claims: unverified } = decode(token)
    const began = withdrawals
    const issuer = chooseIssuer(issuers, unverified)
    if (typeof header.alg !== 'string' || !issuer.algorithms.includes(header.alg)) throw algorithmRefused()
    const claims = await verifyAgainst(issuer, token)
    const verified = await issuer.identify(claims)
    const expiresAt = ((claims.exp ?? 0) + issuer.clockToleranceSeconds) * 1000
    if (began === withdrawals) cache.set(key, { token: verified, issuer, claims, expiresAt })
    return verified
  }

  async function verifyCounted(
    token: string,
    key: string,
    entry: CacheEntry | undefined,
  ): Promise<VerifiedToken> {
    try {
      if (entry !== undefined) return await entry.issuer.identify(entry.claims)
      return await verifyAnew(token, key)
    } catch (error) {
      if (error instanceof AppError) onRefused(error.code)
      throw error
    }
  }

  return {
    async verify(token) {
      if (token.length > LONGEST_TOKEN) {
        onRefused('token_malformed')
        throw malformed(`it is longer than ${LONGEST_TOKEN} characters`)
      }
      const key = hash('sha256', token, 'base64')
      const entry = cache.get(key)
      if (entry !== undefined && entry.expiresAt > Date.now()) {
        const good = entry.issuer.stillGood(entry.token, entry.claims)
        if (good === true) return entry.token
        return verifyCounted(token, key, entry)
      }
      return verifyCounted(token, key, undefined)
    },
    forgetAll() {
      withdrawals += 1
      cache.clear()
    },
  }
}
