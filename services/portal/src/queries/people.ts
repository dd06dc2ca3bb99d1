import { withoutUndefined } from '@atrium/kernel/db'
import { type Selectable, sql } from 'kysely'
import { type Listed, type ListQuery, listRows, plainOrder, textOrder } from './listing.ts'
import type { PeopleTable, PortalDb, PortalTransaction } from './tables.ts'

export type PersonRow = Selectable<PeopleTable>

export interface PersonFields {
  readonly qNumber: string
  readonly name: string
  readonly department?: string | undefined
  readonly mailAddress?: string | undefined
}

/** Makes the person, or brings the one with this Q number up to date. The row stays locked until the transaction ends. */
export async function upsertPerson(
  trx: PortalTransaction,
  userId: string,
  person: PersonFields,
): Promise<PersonRow> {
  const details = withoutUndefined({
    name: person.name,
    department: person.department,
    mail_address: person.mailAddress,
  })
  return trx
    .insertInto('portal.people')
    .values({ user_id: userId, q_number: person.qNumber, name: person.name, ...details })
    .onConflict((conflict) =>
      conflict.column('q_number').doUpdateSet({ ...details, version: sql`people.version + 1` }),
    )
    .returningAll()
    .executeTakeFirstOrThrow()
}

export async function findPersonByQNumber(db: PortalDb, qNumber: string): Promise<PersonRow | undefined> {
  return db.selectFrom('portal.people').selectAll().where('q_number', '=', qNumber).executeTakeFirst()
}

/** Reads a person and keeps others from changing them until the transaction ends. */
export async function lockPersonByQNumber(
  trx: PortalTransaction,
  qNumber: string,
): Promise<PersonRow | undefined> {
  return trx
    .selectFrom('portal.people')
    .selectAll()
    .where('q_number', '=', qNumber)
    .forUpdate()
    .executeTakeFirst()
}

/** @param actorId Q number or client id of who appoints; shown as their user id where they have one */
export async function setSuperuser(
  trx: PortalTransaction,
  userId: string,
  actorId: string,
): Promise<PersonRow> {
  const appointer = userIdOf(actorId)
  return trx
    .updateTable('portal.people')
    .set({
      is_superuser: true,
      superuser_since: sql`now()`,
      superuser_created_by: appointer,
      superuser_modified_by: appointer,
      superuser_modified_at: sql`now()`,
    })
    .where('user_id', '=', userId)
    .returningAll()
    .executeTakeFirstOrThrow()
}

const userIdOf = (actorId: string) =>
  sql<string>`coalesce((SELECT p.user_id::text FROM portal.people p WHERE p.q_number = ${actorId}), ${actorId})`

export async function findSuperuser(db: PortalDb, userId: string): Promise<PersonRow | undefined> {
  return superuser(db, userId).executeTakeFirst()
}

/** Reads a superuser and keeps others from changing them until the transaction ends. */
export async function lockSuperuser(trx: PortalTransaction, userId: string): Promise<PersonRow | undefined> {
  return superuser(trx, userId).forUpdate().executeTakeFirst()
}

const superuser = (db: PortalDb, userId: string) =>
  db.selectFrom('portal.people').selectAll().where('user_id', '=', userId).where('is_superuser', '=', true)

/** Reads all superusers and keeps others from changing who they are until the transaction ends. */
export async function lockSuperusers(trx: PortalTransaction): Promise<PersonRow[]> {
  return trx
    .selectFrom('portal.people')
    .selectAll()
    .where('is_superuser', '=', true)
    .orderBy('user_id')
    .forUpdate()
    .execute()
}

/** The person stays, with their memberships. */
export async function unsetSuperuser(trx: PortalTransaction, userId: string): Promise<PersonRow> {
  return trx
    .updateTable('portal.people')
    .set({
      is_superuser: false,
      superuser_since: null,
      superuser_created_by: null,
      superuser_modified_by: null,
      superuser_modified_at: null,
      version: sql`version + 1`,
    })
    .where('user_id', '=', userId)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** @throws the unique violation of `people_q_number_unique` */
export async function updateSuperuserById(
  trx: PortalTransaction,
  userId: string,
  fields: { [K in keyof PersonFields]?: PersonFields[K] | undefined },
  actorId: string,
  versions: readonly number[] | undefined,
): Promise<PersonRow | undefined> {
  return trx
    .updateTable('portal.people')
    .set({
      ...withoutUndefined({
        q_number: fields.qNumber,
        name: fields.name,
        department: fields.department,
        mail_address: fields.mailAddress,
      }),
      superuser_modified_by: userIdOf(actorId),
      superuser_modified_at: sql`now()`,
      version: sql`version + 1`,
    })
    .where('user_id', '=', userId)
    .where('is_superuser', '=', true)
    .$if(versions !== undefined, (query) => query.where('version', 'in', versions ?? []))
    .returningAll()
    .executeTakeFirst()
}

/** By the item’s field; the contract offers these. */
const SORTABLE = {
  userId: plainOrder('user_id'),
  qNumber: textOrder('q_number'),
  name: textOrder('name'),
  department: textOrder('department'),
  mailAddress: textOrder('mail_address'),
  superuser: plainOrder('is_superuser'),
  createdBy: plainOrder('superuser_created_by'),
  modifiedBy: plainOrder('superuser_modified_by'),
  createdAt: plainOrder('superuser_since'),
  modifiedAt: plainOrder('superuser_modified_at'),
}

export async function listSuperusers(
  db: PortalDb,
  query: ListQuery<keyof typeof SORTABLE>,
): Promise<Listed<PersonRow>> {
  const texts = ['name', 'mail_address', 'q_number', 'department']
  return listRows<PersonRow>(
    db,
    {
      select: sql`*`,
      from: sql`portal.people`,
      where: [sql`is_superuser`],
      searched: texts.map((column) => sql.ref(column)),
      sortable: SORTABLE,
      tieBreak: [sql.ref('user_id')],
    },
    query,
  )
}
