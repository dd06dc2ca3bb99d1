import { sql } from '@atrium/kernel/db'
import type { IdentityDatabase } from './tables.ts'

/** The person's only link from now on. */
export async function replacePasswordLink(
  trx: IdentityDatabase,
  link: { tokenHash: Buffer; qxId: string; lifetimeSeconds: number },
): Promise<Date> {
  await deletePasswordLinks(trx, link.qxId)
  const { expires_at } = await trx
    .insertInto('password_links')
    .values({
      token_hash: link.tokenHash,
      qx_id: link.qxId,
      expires_at: sql<Date>`now() + make_interval(secs => ${link.lifetimeSeconds})`,
    })
    .returning('expires_at')
    .executeTakeFirstOrThrow()
  return expires_at
}

export async function deletePasswordLinks(trx: IdentityDatabase, qxId: string): Promise<void> {
  await trx.deleteFrom('password_links').where('qx_id', '=', qxId).execute()
}

/** Whose link it is, where it still works. */
export async function findPasswordLink(db: IdentityDatabase, tokenHash: Buffer): Promise<string | undefined> {
  const row = await db
    .selectFrom('password_links')
    .select('qx_id')
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return row?.qx_id
}

/** Uses it up. @returns false when it no longer works: of two at once, one gets true */
export async function consumePasswordLink(trx: IdentityDatabase, tokenHash: Buffer): Promise<boolean> {
  const result = await trx
    .deleteFrom('password_links')
    .where('token_hash', '=', tokenHash)
    .where('expires_at', '>', sql<Date>`now()`)
    .executeTakeFirst()
  return result.numDeletedRows > 0n
}

export async function deleteExpiredPasswordLinks(db: IdentityDatabase): Promise<void> {
  await db.deleteFrom('password_links').where('expires_at', '<', sql<Date>`now()`).execute()
}
