import { sql } from '@atrium/kernel/db'
import type { IdentityDatabase, SigningKeyRow } from './tables.ts'

export const KEYS_CHANNEL = 'identity_keys'

/** Keys that are still published, oldest first. */
export const listSigningKeys = (db: IdentityDatabase): Promise<SigningKeyRow[]> =>
  db
    .selectFrom('signing_keys')
    .selectAll()
    .where((where) => where.or([where('retires_at', 'is', null), where('retires_at', '>', sql<Date>`now()`)]))
    .orderBy('signs_from')
    .orderBy('kid')
    .execute()

/** Makes processes take turns; released at the end of the transaction. */
export async function lockSigningKeys(trx: IdentityDatabase): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('identity.signing_keys', 0))`.execute(trx)
}

/** @returns undefined when there is no key at all */
export async function newestSigningKeyAgeSeconds(trx: IdentityDatabase): Promise<number | undefined> {
  const row = await trx
    .selectFrom('signing_keys')
    .select(sql<number>`extract(epoch from now() - max(signs_from))::float8`.as('age'))
    .having(sql<number>`count(*)`, '>', 0)
    .executeTakeFirst()
  return row?.age
}

/**
 * Adds a key that signs after `signsInSeconds`, and lets every older one retire `overlapSeconds` after
 * that. A key that waits to sign gives way: it has signed nothing, and must not take over later.
 * Announces the change to all processes. The caller holds the lock.
 */
export async function insertSigningKey(
  trx: IdentityDatabase,
  key: { kid: string; alg: string; publicJwk: object; sealedPrivateJwk: Buffer },
  times: { signsInSeconds: number; overlapSeconds: number },
): Promise<Date> {
  await trx.deleteFrom('signing_keys').where('signs_from', '>', sql<Date>`clock_timestamp()`).execute()
  // Not now(), which is when the transaction began: it may have waited for the lock since.
  const { rows } = await sql<{
    at: Date
  }>`select clock_timestamp() + make_interval(secs => ${times.signsInSeconds}) as at`.execute(trx)
  const signsFrom = rows[0]?.at ?? new Date()
  await trx
    .updateTable('signing_keys')
    .set({ retires_at: new Date(signsFrom.getTime() + times.overlapSeconds * 1000) })
    .where('retires_at', 'is', null)
    .execute()
  await trx
    .insertInto('signing_keys')
    .values({
      kid: key.kid,
      alg: key.alg,
      public_jwk: key.publicJwk,
      sealed_private_jwk: key.sealedPrivateJwk,
      signs_from: signsFrom,
    })
    .execute()
  await sql`select pg_notify(${KEYS_CHANNEL}, '')`.execute(trx)
  return signsFrom
}

/** @returns how many keys were past their retirement and are gone */
export async function deleteRetiredSigningKeys(trx: IdentityDatabase): Promise<number> {
  const result = await trx
    .deleteFrom('signing_keys')
    .where('retires_at', '<', sql<Date>`now()`)
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}
