import { withoutUndefined } from '@atrium/kernel/db'
import { type Selectable, sql } from 'kysely'
import { type Listed, type ListQuery, listRows, plainOrder, textOrder } from './listing.ts'
import { type Actor, createdBy, modifiedBy } from './stamps.ts'
import type { ClientPrincipalsTable, ClientStatus, PortalDb, PortalTransaction, Role } from './tables.ts'

export interface ClientGrant {
  readonly spaceId: string
  readonly role: Role
}

export type ClientRow = Selectable<ClientPrincipalsTable> & { readonly grants: readonly ClientGrant[] }

export interface ClientFields {
  readonly name?: string | undefined
  readonly environment?: 'int' | 'prod' | undefined
  readonly tokenLifetimeSeconds?: number | undefined
  readonly superuser?: boolean | undefined
  readonly mailAddress?: string | undefined
  readonly status?: ClientStatus | undefined
  readonly approvedAt?: Date | undefined
}

const columnsOf = (fields: ClientFields) =>
  withoutUndefined({
    name: fields.name,
    environment: fields.environment,
    token_lifetime_seconds: fields.tokenLifetimeSeconds,
    is_superuser: fields.superuser,
    mail_address: fields.mailAddress,
    status: fields.status,
    approved_at: fields.approvedAt,
  })

/** Makes the machine client known, or brings it up to date, as superuser. */
export async function upsertSuperuserClient(
  trx: PortalTransaction,
  client: { clientId: string; name: string },
): Promise<void> {
  await trx
    .insertInto('portal.client_principals')
    .values({ client_id: client.clientId, name: client.name, is_superuser: true })
    .onConflict((conflict) =>
      conflict
        .column('client_id')
        .doUpdateSet({ name: client.name, is_superuser: true, version: sql`client_principals.version + 1` }),
    )
    .execute()
}

/** A registration. @throws the unique violation of the client id */
export async function insertClientPrincipal(
  trx: PortalTransaction,
  clientId: string,
  fields: ClientFields & { readonly name: string },
  actor: Actor,
): Promise<void> {
  await trx
    .insertInto('portal.client_principals')
    .values({
      client_id: clientId,
      approved_at: null,
      ...columnsOf(fields),
      name: fields.name,
      ...createdBy(actor),
    })
    .execute()
}

const GRANTS = sql<ClientGrant[]>`(
  SELECT coalesce(json_agg(json_build_object('spaceId', g.space_id, 'role', g.role) ORDER BY g.space_id), '[]')
    FROM portal.client_grants g JOIN portal.spaces s ON s.space_id = g.space_id AND s.deleted_at IS NULL
   WHERE g.client_id = client_principals.client_id)`

export async function findClientPrincipal(db: PortalDb, clientId: string): Promise<ClientRow | undefined> {
  return db
    .selectFrom('portal.client_principals')
    .selectAll()
    .select(GRANTS.as('grants'))
    .where('client_id', '=', clientId)
    .executeTakeFirst()
}

/** Keeps others from changing a client until the transaction ends. */
export async function lockClientPrincipal(trx: PortalTransaction, clientId: string): Promise<void> {
  await trx
    .selectFrom('portal.client_principals')
    .select('client_id')
    .where('client_id', '=', clientId)
    .forUpdate()
    .execute()
}

/** The caller holds the row. */
export async function updateClientPrincipal(
  trx: PortalTransaction,
  clientId: string,
  fields: ClientFields,
  actor: Actor,
): Promise<void> {
  await trx
    .updateTable('portal.client_principals')
    .set({ ...columnsOf(fields), ...modifiedBy(actor) })
    .where('client_id', '=', clientId)
    .execute()
}

/** Its grants go with it. */
export async function deleteClientPrincipal(trx: PortalTransaction, clientId: string): Promise<void> {
  await trx.deleteFrom('portal.client_principals').where('client_id', '=', clientId).execute()
}

/** Which of these spaces are open; they cannot be deleted until the transaction ends. */
export async function lockKnownSpaces(trx: PortalTransaction, ids: readonly string[]): Promise<Set<string>> {
  const { rows } = await sql<{ space_id: string }>`SELECT space_id FROM portal.spaces
    WHERE space_id = ANY(${ids}::uuid[]) AND deleted_at IS NULL ORDER BY space_id FOR KEY SHARE`.execute(trx)
  return new Set(rows.map((row) => row.space_id))
}

/** The client has exactly these roles from now on. The caller holds the client and the spaces. */
export async function replaceGrants(
  trx: PortalTransaction,
  clientId: string,
  grants: readonly ClientGrant[],
): Promise<void> {
  await trx.deleteFrom('portal.client_grants').where('client_id', '=', clientId).execute()
  if (grants.length === 0) return
  await trx
    .insertInto('portal.client_grants')
    .values(grants.map(({ spaceId, role }) => ({ space_id: spaceId, client_id: clientId, role })))
    .execute()
}

/** By the item’s field; the contract offers these. */
const SORTABLE = {
  clientId: textOrder('client_id'),
  name: textOrder('name'),
  environment: plainOrder('environment'),
  status: plainOrder('status'),
  tokenLifetimeSeconds: plainOrder('token_lifetime_seconds'),
  superuser: plainOrder('is_superuser'),
  mailAddress: textOrder('mail_address'),
  approvedAt: plainOrder('approved_at'),
  createdAt: plainOrder('created_at'),
  updatedAt: plainOrder('modified_at'),
}

export async function listClientRows(
  db: PortalDb,
  query: ListQuery<keyof typeof SORTABLE> & { readonly status?: ClientStatus; readonly environment?: string },
): Promise<Listed<ClientRow>> {
  return listRows<ClientRow>(
    db,
    {
      select: sql`*, ${GRANTS} AS grants`,
      from: sql`portal.client_principals`,
      where: [
        query.status === undefined ? sql`true` : sql`status = ${query.status}`,
        ...(query.environment === undefined ? [] : [sql`environment = ${query.environment}`]),
      ],
      searched: ['client_id', 'name', 'mail_address'].map((column) => sql.ref(column)),
      sortable: SORTABLE,
      tieBreak: [sql.ref('created_at'), sql.ref('client_id')],
    },
    query,
  )
}
