import { isUuid } from '@atrium/kernel/ids'
import type { JWTPayload } from 'jose'
import { tokenRefused } from '../errors.ts'
import { readStanding } from '../queries/people.ts'
import type { IdentityDatabase } from '../queries/tables.ts'
import { createFreshCache, type FreshCache } from './fresh-cache.ts'

/** What decides whether a person's tokens still count. */
export interface PersonStanding {
  readonly hasAccount: boolean
  readonly isDisabled: boolean
  /** Milliseconds of the epoch. */
  readonly tokensValidFrom: number
  readonly sessions: ReadonlySet<string>
  readonly grants: ReadonlySet<string>
}

export type PeopleDirectory = FreshCache<PersonStanding>

const CAPACITY = 20_000

/** People by qxId. Who has no account stands too: operators mint tokens for whom they like. */
export const createPeopleDirectory = (db: IdentityDatabase): PeopleDirectory =>
  createFreshCache(async (qxId) => {
    const row = await readStanding(db, qxId)
    return {
      hasAccount: row.hasAccount,
      isDisabled: row.isDisabled,
      tokensValidFrom: row.tokensValidFrom?.getTime() ?? 0,
      sessions: new Set(row.sessions),
      grants: new Set(row.grants),
    }
  }, CAPACITY)

/** Milliseconds of the epoch: from the UUIDv7 where the token has one, for `iat` knows seconds only. */
function issuedAt({ jti, iat }: JWTPayload): number {
  if (typeof jti === 'string' && isUuid(jti) && jti[14] === '7') {
    return Number.parseInt(jti.slice(0, 8) + jti.slice(9, 13), 16)
  }
  return (iat ?? 0) * 1000
}

/** Why a token of this person no longer counts; undefined when it does. */
export function endOfToken(
  person: PersonStanding,
  claims: JWTPayload,
): 'token_account_disabled' | 'token_session_ended' | undefined {
  if (person.isDisabled) return 'token_account_disabled'
  // Tokens of a sign-in live as long as it, and as the grant to its application; minted ones have neither.
  if (claims.sid === undefined) {
    return issuedAt(claims) < person.tokensValidFrom ? 'token_session_ended' : undefined
  }
  const lives =
    person.hasAccount && person.sessions.has(String(claims.sid)) && person.grants.has(String(claims.gid))
  return lives ? undefined : 'token_session_ended'
}

const MEANINGS = {
  token_account_disabled: 'The account of this token is disabled',
  token_session_ended: 'The session of this token has ended; sign in again',
} as const

/** @throws AppError 401 when the token no longer counts */
export function demandLivingToken(person: PersonStanding, claims: JWTPayload): void {
  const end = endOfToken(person, claims)
  if (end !== undefined) throw tokenRefused(end, MEANINGS[end])
}
