import { sql } from 'kysely'
import { type Listed, type ListQuery, listRows, plainOrder, textOrder } from './listing.ts'
import type { PortalDb, PortalTransaction, Role } from './tables.ts'

export interface MemberRow {
  readonly user_id: string
  readonly q_number: string
  readonly name: string
  readonly department: string
  readonly mail_address: string
  readonly role: Role
  readonly created_at: Date
  readonly modified_at: Date
  readonly version: number
}

const members = sql`portal.memberships m JOIN portal.people p ON p.user_id = m.user_id`
const columns = sql`m.user_id, p.q_number, p.name, p.department, p.mail_address, m.role, m.created_at, m.modified_at, m.version`

/** @throws the unique violation of `memberships_pkey`, or the foreign-key violation of the space */
export async function insertMembership(
  trx: PortalTransaction,
  spaceId: string,
  userId: string,
  role: Role,
): Promise<{ created_at: Date; version: number }> {
  return trx
    .insertInto('portal.memberships')
    .values({ space_id: spaceId, user_id: userId, role })
    .returning(['created_at', 'version'])
    .executeTakeFirstOrThrow()
}

export async function findMember(
  db: PortalDb,
  spaceId: string,
  userId: string,
): Promise<MemberRow | undefined> {
  const { rows } = await sql<MemberRow>`SELECT ${columns} FROM ${members}
    WHERE m.space_id = ${spaceId} AND m.user_id = ${userId}`.execute(db)
  return rows[0]
}

/** Keeps others from changing a membership until the transaction ends. */
export async function lockMembership(trx: PortalTransaction, spaceId: string, userId: string): Promise<void> {
  await trx
    .selectFrom('portal.memberships')
    .select('user_id')
    .where('space_id', '=', spaceId)
    .where('user_id', '=', userId)
    .forUpdate()
    .execute()
}

/** @returns whether a row was changed */
export async function updateRole(
  trx: PortalTransaction,
  spaceId: string,
  userId: string,
  role: Role,
  versions: readonly number[] | undefined,
): Promise<boolean> {
  const row = await trx
    .updateTable('portal.memberships')
    .set({ role, modified_at: sql`now()`, version: sql`version + 1` })
    .where('space_id', '=', spaceId)
    .where('user_id', '=', userId)
    .$if(versions !== undefined, (query) => query.where('version', 'in', versions ?? []))
    .returning('user_id')
    .executeTakeFirst()
  return row !== undefined
}

/** @returns whether a row was deleted */
export async function deleteMembership(
  trx: PortalTransaction,
  spaceId: string,
  userId: string,
  versions: readonly number[] | undefined,
): Promise<boolean> {
  const row = await trx
    .deleteFrom('portal.memberships')
    .where('space_id', '=', spaceId)
    .where('user_id', '=', userId)
    .$if(versions !== undefined, (query) => query.where('version', 'in', versions ?? []))
    .returning('user_id')
    .executeTakeFirst()
  return row !== undefined
}

/** By the item’s field; the contract offers these. */
const SORTABLE = {
  userId: plainOrder('m.user_id'),
  qNumber: textOrder('p.q_number'),
  name: textOrder('p.name'),
  department: textOrder('p.department'),
  mailAddress: textOrder('p.mail_address'),
  role: plainOrder('m.role'),
}

export async function listMembers(
  db: PortalDb,
  spaceId: string,
  query: ListQuery<keyof typeof SORTABLE> & { readonly role?: Role },
): Promise<Listed<MemberRow>> {
  return listRows<MemberRow>(
    db,
    {
      select: columns,
      from: members,
      where: [
        sql`m.space_id = ${spaceId}`,
        ...(query.role === undefined ? [] : [sql`m.role = ${query.role}`]),
      ],
      searched: ['p.q_number', 'p.name', 'p.department', 'p.mail_address'].map((column) => sql.ref(column)),
      sortable: SORTABLE,
      tieBreak: [sql.ref('m.created_at'), sql.ref('m.user_id')],
    },
    query,
  )
}
