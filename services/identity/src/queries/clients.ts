import { sql } from '@atrium/kernel/db'
import type { ClientRow, ClientStatus, IdentityDatabase } from './tables.ts'

export const CLIENTS_CHANNEL = 'identity_clients'

/** Tells every process to forget what it knows about a client. */
export async function announceClient(db: IdentityDatabase, clientId: string): Promise<void> {
  await sql`select pg_notify(${CLIENTS_CHANNEL}, ${clientId})`.execute(db)
}

/** A client with the hashes of the secrets that are valid now. */
export type ClientWithSecrets = ClientRow & { readonly hashes: readonly string[] }

/** From now until `expiresAt` at least, tokens of this client are looked up among the revoked ones. */
export async function expectRevocations(trx: IdentityDatabase, clientId: string, until: Date): Promise<void> {
  await trx
    .updateTable('clients')
    .set({ revocations_until: sql<Date>`greatest(revocations_until, ${until})` })
    .where('client_id', '=', clientId)
    .execute()
}

/** Hashes in hexadecimal, for JSON has no bytes. */
export const findClientWithSecrets = (
  db: IdentityDatabase,
  clientId: string,
): Promise<ClientWithSecrets | undefined> =>
  db
    .selectFrom('clients')
    .selectAll()
    .select(
      sql<string[]>`array(
        select encode(s.hash, 'hex') from identity.client_secrets s
        where s.client_id = clients.client_id and (s.expires_at is null or s.expires_at > now())
      )`.as('hashes'),
    )
    .where('client_id', '=', clientId)
    .executeTakeFirst()

export const findClient = (db: IdentityDatabase, clientId: string): Promise<ClientRow | undefined> =>
  db.selectFrom('clients').selectAll().where('client_id', '=', clientId).executeTakeFirst()

/** Locks the row until the transaction ends. */
export const lockClient = (trx: IdentityDatabase, clientId: string): Promise<ClientRow | undefined> =>
  trx.selectFrom('clients').selectAll().where('client_id', '=', clientId).forUpdate().executeTakeFirst()

export const listClients = (db: IdentityDatabase): Promise<ClientRow[]> =>
  db.selectFrom('clients').selectAll().orderBy('created_at').orderBy('client_id').execute()

interface ClientValues {
  readonly clientId: string
  readonly name: string
  readonly status: ClientStatus
  readonly tokenLifetimeSeconds: number
}

const rowOf = (client: ClientValues) => ({
  client_id: client.clientId,
  name: client.name,
  status: client.status,
  token_lifetime_seconds: client.tokenLifetimeSeconds,
})

export const insertClient = (trx: IdentityDatabase, client: ClientValues): Promise<ClientRow> =>
  trx.insertInto('clients').values(rowOf(client)).returningAll().executeTakeFirstOrThrow()

export const upsertClient = (trx: IdentityDatabase, client: ClientValues): Promise<ClientRow> =>
  trx
    .insertInto('clients')
    .values(rowOf(client))
    .onConflict((conflict) =>
      conflict.column('client_id').doUpdateSet((row) => ({
        name: row.ref('excluded.name'),
        status: row.ref('excluded.status'),
        token_lifetime_seconds: row.ref('excluded.token_lifetime_seconds'),
        version: sql<number>`clients.version + 1`,
        updated_at: sql<Date>`now()`,
      })),
    )
    .returningAll()
    .executeTakeFirstOrThrow()

/** @param versions demanded by the caller's If-Match; the update finds no row when none fits */
export const updateClient = (
  trx: IdentityDatabase,
  clientId: string,
  change: { name?: string; status?: ClientStatus; tokenLifetimeSeconds?: number },
  versions?: readonly number[],
): Promise<ClientRow | undefined> => {
  let update = trx
    .updateTable('clients')
    .set({
      ...(change.name === undefined ? {} : { name: change.name }),
      ...(change.status === undefined ? {} : { status: change.status }),
      ...(change.status === 'Disabled' ? { tokens_valid_from: new Date() } : {}),
      ...(change.tokenLifetimeSeconds === undefined
        ? {}
        : { token_lifetime_seconds: change.tokenLifetimeSeconds }),
      version: sql<number>`version + 1`,
      updated_at: sql<Date>`now()`,
    })
    .where('client_id', '=', clientId)
  if (versions !== undefined) update = update.where('version', 'in', [...versions])
  return update.returningAll().executeTakeFirst()
}

export async function deleteClient(db: IdentityDatabase, clientId: string): Promise<boolean> {
  const result = await db.deleteFrom('clients').where('client_id', '=', clientId).executeTakeFirst()
  return result.numDeletedRows > 0n
}
