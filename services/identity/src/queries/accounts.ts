import { sql } from '@atrium/kernel/db'
import type { AccountRow, IdentityDatabase } from './tables.ts'

export const findAccount = (db: IdentityDatabase, qxId: string): Promise<AccountRow | undefined> =>
  db.selectFrom('accounts').selectAll().where('qx_id', '=', qxId).executeTakeFirst()

export async function anyAccount(db: IdentityDatabase): Promise<boolean> {
  return (await db.selectFrom('accounts').select('qx_id').limit(1).executeTakeFirst()) !== undefined
}

export const insertAccount = (
  db: IdentityDatabase,
  account: { qxId: string; name: string; mailAddress: string; passwordHash: string },
): Promise<AccountRow> =>
  db
    .insertInto('accounts')
    .values({
      qx_id: account.qxId,
      name: account.name,
      mail_address: account.mailAddress,
      password_hash: account.passwordHash,
    })
    .returningAll()
    .executeTakeFirstOrThrow()

const changed = { updated_at: sql<Date>`now()`, version: sql<number>`version + 1` }

/** Tokens without a session that were issued before `tokensValidFrom` end. @returns false when there is no such account */
export async function updatePasswordHash(
  db: IdentityDatabase,
  qxId: string,
  passwordHash: string,
  tokensValidFrom: Date,
): Promise<boolean> {
  const result = await db
    .updateTable('accounts')
    .set({
      password_hash: passwordHash,
      password_changed_at: sql<Date>`now()`,
      tokens_valid_from: tokensValidFrom,
      ...changed,
    })
    .where('qx_id', '=', qxId)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** @returns false when there is no such account */
export async function updateDisabled(
  db: IdentityDatabase,
  qxId: string,
  isDisabled: boolean,
): Promise<boolean> {
  const result = await db
    .updateTable('accounts')
    .set({
      disabled_at: isDisabled ? sql<Date>`coalesce(disabled_at, now())` : null,
      ...changed,
    })
    .where('qx_id', '=', qxId)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}
