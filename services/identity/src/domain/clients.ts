import { invalidInput, preconditionFailed } from '@atrium/kernel/errors'
import { newId } from '@atrium/kernel/ids'
import { hasLength } from '@atrium/kernel/text'
import { illegalStatusChange, noSuchClient } from '../errors.ts'
import { replaceClientSecret } from '../queries/client-secrets.ts'
import {
  announceClient,
  deleteClient,
  findClient,
  insertClient,
  listClients,
  lockClient,
  updateClient,
  upsertClient,
} from '../queries/clients.ts'
import { ownTables, type RunningTransaction } from '../queries/principal-ids.ts'
import type { ClientRow, ClientStatus, IdentityDatabase } from '../queries/tables.ts'
import { isClientId } from './client-directory.ts'
import { checkChosenSecret, hashClientSecret, newClientSecret } from './client-secret.ts'
import { mayBecome } from './client-status.ts'
import { claimClientId } from './principal-ids.ts'

export interface Client {
  readonly clientId: string
  readonly name: string
  readonly status: ClientStatus
  readonly tokenLifetimeSeconds: number
  readonly version: number
  readonly createdAt: Date
  readonly updatedAt: Date
}

export interface NewClient {
  /** Printable ASCII, at most 128 characters; a UUIDv7 when absent. */
  readonly clientId?: string
  readonly name: string
  /** At least 16 characters; 256 random bits when absent. */
  readonly secret?: string
  /** 60 to 86400. */
  readonly tokenLifetimeSeconds?: number
  /** Only an `Active` client has a secret: one in registration gets it on approval. */
  readonly status: ClientStatus
}

interface ClientChange {
  name?: string
  tokenLifetimeSeconds?: number
  status?: ClientStatus
}

export interface Clients {
  /** @returns the secret, which nobody can read again. @throws AppError 400, 409 */
  create(client: NewClient & { readonly status: 'Active' }): Promise<{ clientId: string; secret: string }>
  create(client: NewClient): Promise<{ clientId: string; secret: string | undefined }>
  /** Creates the client or makes the existing one like this; for set-ups that may run twice. @throws AppError 400 */
  put(client: NewClient & { readonly clientId: string; readonly secret: string }): Promise<void>
  find(clientId: string): Promise<Client | undefined>
  /** In the order of creation. */
  list(): Promise<Client[]>
  /** @param versions demanded by If-Match. @throws AppError 400, 404, 409 for an illegal change of status, 412 */
  update(clientId: string, change: ClientChange, versions?: readonly number[]): Promise<Client>
  /** In Progress to Active. @returns the client's first secret. @throws AppError 404, 409 */
  approve(clientId: string): Promise<{ secret: string }>
  /** A new secret; the old one works for `overlapSeconds` more. @throws AppError 404 */
  rotateSecret(clientId: string, overlapSeconds: number): Promise<{ secret: string }>
  /** Its id is never given again. @returns false when there was no such client */
  remove(clientId: string): Promise<boolean>
  /** The same acts inside a transaction of the caller's: committed, and announced, together with what else it does. */
  within(trx: RunningTransaction): Clients
}

const MAX_OVERLAP_SECONDS = 30 * 86_400

const present = (row: ClientRow): Client => ({
  clientId: row.client_id,
  name: row.name,
  status: row.status,
  tokenLifetimeSeconds: row.token_lifetime_seconds,
  version: row.version,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})

function checkLifetime(seconds: number): void {
  if (!Number.isInteger(seconds) || seconds < 60 || seconds > 86_400) {
    throw invalidInput('tokenLifetimeSeconds', 'must be a whole number from 60 to 86400')
  }
}

function checkName(name: string): void {
  if (name.trim() === '' || !hasLength(name, 1, 200) || name.includes('\0')) {
    throw invalidInput('name', 'must have 1 to 200 characters')
  }
}

interface Defaults {
  readonly tokenLifetimeSeconds: number
}

/** @throws AppError 400 */
function checkedValues(client: NewClient & { readonly clientId: string }, defaults: Defaults) {
  const { clientId, name, status, secret } = client
  const tokenLifetimeSeconds = client.tokenLifetimeSeconds ?? defaults.tokenLifetimeSeconds
  if (!isClientId(clientId)) {
    throw invalidInput('clientId', 'must be 1 to 128 printable ASCII characters without spaces')
  }
  checkName(name)
  checkLifetime(tokenLifetimeSeconds)
  if (secret !== undefined) checkChosenSecret(secret)
  return { clientId, name, status, tokenLifetimeSeconds }
}

/** Runs `change` in a transaction that ends with telling every process. */
function changing<T>(
  db: IdentityDatabase,
  clientId: string,
  change: (trx: IdentityDatabase) => Promise<T>,
): Promise<T> {
  const act = async (trx: IdentityDatabase): Promise<T> => {
    const result = await change(trx)
    await announceClient(trx, clientId)
    return result
  }
  return db.isTransaction ? act(db) : db.transaction().execute(act)
}

async function giveSecret(trx: IdentityDatabase, clientId: string, overlapSeconds: number) {
  const secret = newClientSecret()
  await replaceClientSecret(trx, clientId, hashClientSecret(secret), overlapSeconds)
  return { secret }
}

async function locked(trx: IdentityDatabase, clientId: string): Promise<ClientRow> {
  const row = isClientId(clientId) ? await lockClient(trx, clientId) : undefined
  if (row === undefined) throw noSuchClient(clientId)
  return row
}

async function createClient(db: IdentityDatabase, client: NewClient, defaults: Defaults) {
  const values = checkedValues({ ...client, clientId: client.clientId ?? newId() }, defaults)
  const { clientId, status } = values
  const secret = status === 'Active' ? (client.secret ?? newClientSecret()) : undefined
  await changing(db, clientId, async (trx) => {
    await claimClientId(trx, clientId)
    await insertClient(trx, values)
    if (secret !== undefined) await replaceClientSecret(trx, clientId, hashClientSecret(secret), 0)
  })
  return { clientId, secret }
}

async function putClient(
  db: IdentityDatabase,
  client: NewClient & { readonly clientId: string; readonly secret: string },
  defaults: Defaults,
): Promise<void> {
  const values = checkedValues(client, defaults)
  const { clientId } = values
  await changing(db, clientId, async (trx) => {
    if ((await lockClient(trx, clientId)) === undefined) await claimClientId(trx, clientId)
    await upsertClient(trx, values)
    await replaceClientSecret(trx, clientId, hashClientSecret(client.secret), 0)
  })
}

async function changeClient(
  db: IdentityDatabase,
  clientId: string,
  change: ClientChange,
  versions: readonly number[] | undefined,
): Promise<Client> {
  if (change.name !== undefined) checkName(change.name)
  if (change.tokenLifetimeSeconds !== undefined) checkLifetime(change.tokenLifetimeSeconds)
  return changing(db, clientId, async (trx) => {
    const row = await locked(trx, clientId)
    if (change.status !== undefined && !mayBecome(row.status, change.status)) {
      throw illegalStatusChange(row.status, change.status)
    }
    const updated = await updateClient(trx, clientId, change, versions)
    if (updated === undefined) throw preconditionFailed()
    return present(updated)
  })
}

const approveClient = (db: IdentityDatabase, clientId: string): Promise<{ secret: string }> =>
  changing(db, clientId, async (trx) => {
    const row = await locked(trx, clientId)
    if (row.status !== 'In Progress') throw illegalStatusChange(row.status, 'Active')
    await updateClient(trx, clientId, { status: 'Active' })
    return giveSecret(trx, clientId, 0)
  })

async function rotateClientSecret(db: IdentityDatabase, clientId: string, overlapSeconds: number) {
  if (!Number.isInteger(overlapSeconds) || overlapSeconds < 0 || overlapSeconds > MAX_OVERLAP_SECONDS) {
    throw invalidInput('overlapSeconds', `must be a whole number from 0 to ${MAX_OVERLAP_SECONDS}`)
  }
  return changing(db, clientId, async (trx) => {
    await locked(trx, clientId)
    return giveSecret(trx, clientId, overlapSeconds)
  })
}

/** Machine clients: registration, approval, secrets, status. */
export function createClients(db: IdentityDatabase, defaults: Defaults): Clients {
  async function create(
    client: NewClient & { readonly status: 'Active' },
  ): Promise<{ clientId: string; secret: string }>
  async function create(client: NewClient): Promise<{ clientId: string; secret: string | undefined }>
  async function create(client: NewClient) {
    return createClient(db, client, defaults)
  }
  return {
    create,
    put: (client) => putClient(db, client, defaults),
    async find(clientId) {
      const row = isClientId(clientId) ? await findClient(db, clientId) : undefined
      return row === undefined ? undefined : present(row)
    },
    list: async () => (await listClients(db)).map(present),
    update: (clientId, change, versions) => changeClient(db, clientId, change, versions),
    approve: (clientId) => approveClient(db, clientId),
    rotateSecret: (clientId, overlapSeconds) => rotateClientSecret(db, clientId, overlapSeconds),
    async remove(clientId) {
      return isClientId(clientId) && changing(db, clientId, (trx) => deleteClient(trx, clientId))
    },
    within: (trx) => createClients(ownTables(trx), defaults),
  }
}
