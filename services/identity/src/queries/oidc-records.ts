import { sql } from '@atrium/kernel/db'
import { announcePerson } from './people.ts'
import type { IdentityDatabase } from './tables.ts'

/** A thing of the OAuth library, as it is stored. */
export interface OidcRecord {
  readonly model: string
  readonly id: string
  readonly payload: object
  readonly uid: string | undefined
  readonly userCode: string | undefined
  readonly grantId: string | undefined
  readonly accountId: string | undefined
  readonly sessionId: string | undefined
  /** Seconds from now; undefined: never. */
  readonly expiresIn: number | undefined
}

export async function upsertOidcRecord(db: IdentityDatabase, record: OidcRecord): Promise<void> {
  const values = {
    payload: record.payload,
    uid: record.uid ?? null,
    user_code: record.userCode ?? null,
    grant_id: record.grantId ?? null,
    account_id: record.accountId ?? null,
    session_id: record.sessionId ?? null,
    expires_at:
      record.expiresIn === undefined ? null : sql<Date>`now() + make_interval(secs => ${record.expiresIn})`,
  }
  await db
    .insertInto('oidc_records')
    .values({ model: record.model, id: record.id, ...values })
    .onConflict((conflict) => conflict.columns(['model', 'id']).doUpdateSet(values))
    .execute()
}

/** @returns the payload of what has not expired */
export async function findOidcRecord(
  db: IdentityDatabase,
  model: string,
  by: { readonly column: 'id' | 'uid' | 'user_code'; readonly value: string },
): Promise<object | undefined> {
  const row = await db
    .selectFrom('oidc_records')
    .select('payload')
    .where('model', '=', model)
    .where(by.column, '=', by.value)
    .where((where) => where.or([where('expires_at', 'is', null), where('expires_at', '>', sql<Date>`now()`)]))
    .executeTakeFirst()
  return row?.payload
}

/** Marks as used. @returns false when it was used before: of two at once, one gets true */
export async function consumeOidcRecord(
  db: IdentityDatabase,
  model: string,
  id: string,
  atSeconds: number,
): Promise<boolean> {
  const result = await db
    .updateTable('oidc_records')
    .set({ payload: sql<object>`payload || jsonb_build_object('consumed', ${atSeconds}::bigint)` })
    .where('model', '=', model)
    .where('id', '=', id)
    .where(sql<boolean>`not jsonb_exists(payload, 'consumed')`)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** Announces the person when a grant is gone: its access tokens end with it. */
export async function deleteOidcRecord(db: IdentityDatabase, model: string, id: string): Promise<void> {
  const gone = await db
    .deleteFrom('oidc_records')
    .where('model', '=', model)
    .where('id', '=', id)
    .returning('account_id')
    .executeTakeFirst()
  if (model === 'Grant' && gone?.account_id != null) await announcePerson(db, gone.account_id)
}

/**
 * Deletes a grant and everything that was issued on it, and announces the person.
 * @returns who gave it; undefined when there was none
 */
export async function deleteGrant(trx: IdentityDatabase, grantId: string): Promise<string | undefined> {
  const gone = await trx
    .deleteFrom('oidc_records')
    .where((where) =>
      where.or([
        where('grant_id', '=', grantId),
        where.and([where('model', '=', 'Grant'), where('id', '=', grantId)]),
      ]),
    )
    .returning('account_id')
    .execute()
  const qxId = gone.find(({ account_id }) => account_id !== null)?.account_id ?? undefined
  if (qxId !== undefined) await announcePerson(trx, qxId)
  return qxId
}

export async function deleteExpiredOidcRecords(db: IdentityDatabase): Promise<number> {
  const result = await db
    .deleteFrom('oidc_records')
    .where('expires_at', '<', sql<Date>`now()`)
    .executeTakeFirst()
  return Number(result.numDeletedRows)
}
