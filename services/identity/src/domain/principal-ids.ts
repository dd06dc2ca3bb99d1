import { clientExists, clientIdIsSpent, idIsOfClient, idIsOfPerson } from '../errors.ts'
import { findClient } from '../queries/clients.ts'
import { claimId, findKindOfId, ownTables, type RunningTransaction } from '../queries/principal-ids.ts'
import type { IdentityDatabase } from '../queries/tables.ts'

/** Claims the id of a new client, once and for all. @throws AppError 409 */
export async function claimClientId(trx: IdentityDatabase, clientId: string): Promise<void> {
  const kind = await claimId(trx, clientId, 'client')
  if (kind === undefined) return
  if (kind === 'person') throw idIsOfPerson(clientId)
  throw (await findClient(trx, clientId)) === undefined ? clientIdIsSpent(clientId) : clientExists(clientId)
}

/** Claims an id for a person, whom any number of records may describe. @throws AppError 409 when it is a client's */
export async function claimPersonId(trx: RunningTransaction, qxId: string): Promise<void> {
  if ((await claimId(ownTables(trx), qxId, 'person')) === 'client') throw idIsOfClient(qxId)
}

/** @throws AppError 409 when the id is a client's, or was */
export async function demandNoClientId(db: IdentityDatabase, qxId: string): Promise<void> {
  if ((await findKindOfId(db, qxId)) === 'client') throw idIsOfClient(qxId)
}
