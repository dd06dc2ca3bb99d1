import { sql } from '@atrium/kernel/db'
import type { IdentityDatabase } from './tables.ts'

export const REVOKED_CHANNEL = 'identity_revoked_tokens'

/** Revoking twice is once. Announces the token to all processes. */
export async function insertRevokedToken(trx: IdentityDatabase, jti: string, expiresAt: Date): Promise<void> {
  await trx
    .insertInto('revoked_tokens')
    .values({ jti, expires_at: expiresAt })
    .onConflict((conflict) => conflict.column('jti').doNothing())
    .execute()
  await sql`select pg_notify(${REVOKED_CHANNEL}, ${jti})`.execute(trx)
}

export async function isRevokedToken(db: IdentityDatabase, jti: string): Promise<boolean> {
  const row = await db.selectFrom('revoked_tokens').select('jti').where('jti', '=', jti).executeTakeFirst()
  return row !== undefined
}

/** An hour late, for verifiers allow for clocks that differ. */
export async function deleteExpiredRevocations(db: IdentityDatabase): Promise<void> {
  await db
    .deleteFrom('revoked_tokens')
    .where('expires_at', '<', sql<Date>`now() - interval '1 hour'`)
    .execute()
}
