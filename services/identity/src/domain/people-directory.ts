import { FreshCache, type Outage } from '@atrium/kernel/cache'
import { isUuid } from '@atrium/kernel/ids'
import type { JWTPayload } from 'jose'
import { tokenRefused } from '../errors.ts'
import { readStanding } from '../queries/people.ts'
import type { IdentityDatabase } from '../queries/tables.ts'

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
export function createPeopleDirectory(db: IdentityDatabase, outage: Outage): PeopleDirectory {
  async function read(qxId: string): Promise<PersonStanding> {
    const row = await readStanding(db, qxId)
    return {
      hasAccount: row.hasAccount,
      isDisabled: row.isDisabled,
      tokensValidFrom: row.tokensValidFrom?.getTime() ?? 0,
      sessions: new Set(row.sessions),
      grants: new Set(row.grants),
    }
  }
  return new FreshCache({ read, outage, maxEntries: CAPACITY })
}

/** Milliseconds of the epoch: from the UUIDv7 where the token has one, for `iat` knows seconds only. */
export function issuedAt({ jti, iat }: JWTPayload): number {
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

/** Longer than what is known may be old, and than clocks of processes differ. */
const YOUNG_MS = 5000

/** Whether a token was made so lately that what is known of its holder may be older. */
export const isYoung = (claims: JWTPayload): boolean => Date.now() - issuedAt(claims) < YOUNG_MS

/**
 * Demands that a token still counts. What is known of the person may be older than a token that was made this moment,
 * so of a young one that seems to have ended the database is asked once more.
 * @throws AppError 401 when it no longer counts
 */
export async function demandLivingToken(
  directory: PeopleDirectory,
  qxId: string,
  claims: JWTPayload,
): Promise<void> {
  let end = endOfToken(await directory.find(qxId), claims)
  if (end === 'token_session_ended' && isYoung(claims)) {
    directory.forget(qxId)
    end = endOfToken(await directory.find(qxId), claims)
  }
  if (end !== undefined) throw tokenRefused(end, MEANINGS[end])
}
