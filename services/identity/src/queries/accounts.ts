import { sql } from '@atrium/kernel/db'
import type { AccountRow, IdentityDatabase } from './tables.ts'

export const findAccount = (db: IdentityDatabase, qxId: string): Promise<AccountRow | undefined> =>
  db.selectFrom('accounts').selectAll().where('qx_id', '=', qxId).executeTakeFirst()

/** Locks the row until the transaction ends. */
export const lockAccount = (trx: IdentityDatabase, qxId: string): Promise<AccountRow | undefined> =>
  trx.selectFrom('accounts').selectAll().where('qx_id', '=', qxId).forUpdate().executeTakeFirst()

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
      ...(isDisabled ? { tokens_valid_from: sql<Date>`clock_timestamp()` } : {}),
      ...changed,
    })
    .where('qx_id', '=', qxId)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

export interface AccountChange {
  readonly name?: string
  readonly mailAddress?: string
  readonly disabled?: boolean
}

/** @param versions demanded by the caller's If-Match; the update finds no row when none fits */
export const updateAccount = (
  trx: IdentityDatabase,
  qxId: string,
  { name, mailAddress }: AccountChange,
  versions: readonly number[] | undefined,
): Promise<AccountRow | undefined> => {
  let update = trx
    .updateTable('accounts')
    .set({
      ...(name === undefined ? {} : { name }),
      ...(mailAddress === undefined ? {} : { mail_address: mailAddress }),
      ...changed,
    })
    .where('qx_id', '=', qxId)
  if (versions !== undefined) update = update.where('version', 'in', [...versions])
  return update.returningAll().executeTakeFirst()
}

const SORTABLE = {
  qxId: 'qx_id',
  name: 'name',
  mailAddress: 'mail_address',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
} as const

export interface AccountListQuery {
  readonly limit: number
  readonly offset: number
  readonly search?: string
  readonly sortBy?: keyof typeof SORTABLE
  readonly sortOrder?: 'asc' | 'desc'
}

/** One page, in the order of creation unless another one is asked for. */
export async function listAccounts(
  db: IdentityDatabase,
  { limit, offset, search = '', sortBy = 'createdAt', sortOrder = 'asc' }: AccountListQuery,
): Promise<{ rows: AccountRow[]; total: number }> {
  const pattern = `%${search.replace(/[\\%_]/g, '\\$&')}%`
  const matching = db
    .selectFrom('accounts')
    .$if(search !== '', (query) =>
      query.where((where) =>
        where.or(
          (['qx_id', 'name', 'mail_address'] as const).map((column) => where(column, 'ilike', pattern)),
        ),
      ),
    )
  const [rows, counted] = await Promise.all([
    matching
      .selectAll()
      .orderBy(SORTABLE[sortBy], sortOrder)
      .orderBy('qx_id', sortOrder)
      .limit(limit)
      .offset(offset)
      .execute(),
    matching.select(sql<number>`count(*)::float8`.as('total')).executeTakeFirstOrThrow(),
  ])
  return { rows, total: counted.total }
}
