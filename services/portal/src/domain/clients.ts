import { isUniqueViolation } from '@atrium/kernel/db'
import { invalidInput, preconditionFailed } from '@atrium/kernel/errors'
import { newId } from '@atrium/kernel/ids'
import type { PortalContext } from '../context.ts'
import type { ClientChanges, ClientInput } from '../contract/clients.ts'
import { clientIdOfPerson, clientKnown, clientNotFound, illegalClientStatus } from '../errors.ts'
import {
  type ClientGrant,
  type ClientRow,
  deleteClientPrincipal,
  findClientPrincipal,
  insertClientPrincipal,
  listClientRows,
  lockClientPrincipal,
  lockKnownSpaces,
  replaceGrants,
  updateClientPrincipal,
} from '../queries/clients.ts'
import { findPersonByQNumber } from '../queries/people.ts'
import type { PortalTransaction } from '../queries/tables.ts'
import { subjectOf } from './access-changes.ts'
import { type Act, recordAudit } from './audit.ts'

type Versions = readonly number[] | undefined

const resource = (clientId: string) => ({ spaceId: null, resourceType: 'client', resourceId: clientId })

/** A client and the secret that it was just given: undefined where that went out by mail. */
export interface HandedOut {
  readonly row: ClientRow
  readonly secret: string | undefined
}

async function read(trx: PortalTransaction, clientId: string): Promise<ClientRow> {
  const row = await findClientPrincipal(trx, clientId)
  if (row === undefined) throw clientNotFound(clientId)
  return row
}

/** @throws AppError 400 that names the grant whose space is unknown, or named before */
async function setGrants(
  trx: PortalTransaction,
  clientId: string,
  grants: readonly ClientGrant[],
): Promise<void> {
  const wanted = grants.map(({ spaceId, role }) => ({ spaceId: spaceId.toLowerCase(), role }))
  const known = await lockKnownSpaces(
    trx,
    wanted.map((grant) => grant.spaceId),
  )
  for (const [index, { spaceId }] of wanted.entries()) {
    const field = `body.grants.${index}.spaceId`
    if (!known.has(spaceId)) throw invalidInput(field, `names no space: ${spaceId}`)
    const first = wanted.findIndex((grant) => grant.spaceId === spaceId)
    if (first < index) throw invalidInput(field, `names the same space as body.grants.${first}`)
  }
  await replaceGrants(trx, clientId, wanted)
}

/** Registers a machine client: it has no secret, and no token, before it is approved. @throws AppError 400, 409 */
export async function createClient(ctx: PortalContext, input: ClientInput, act: Act): Promise<ClientRow> {
  const { clientId = newId(), name, environment, superuser = false, mailAddress = '', grants = [] } = input
  const { tokenLifetimeSeconds } = input
  try {
    return await ctx.changes.commit([subjectOf.client(clientId)], async (trx) => {
      const identity = ctx.identityClients.within(trx)
      await identity.create({
        clientId,
        name,
        status: 'In Progress',
        ...(tokenLifetimeSeconds === undefined ? {} : { tokenLifetimeSeconds }),
      })
      const fields = {
        name,
        environment,
        superuser,
        mailAddress,
        status: 'In Progress' as const,
        tokenLifetimeSeconds: (await identity.find(clientId))?.tokenLifetimeSeconds,
      }
      // People from before ids were claimed.
      if ((await findPersonByQNumber(trx, clientId)) !== undefined) throw clientIdOfPerson(clientId)
      await insertClientPrincipal(trx, clientId, fields, act)
      await setGrants(trx, clientId, grants)
      const after = await read(trx, clientId)
      await recordAudit(trx, act, { ...resource(clientId), after })
      return after
    })
  } catch (error) {
    throw isUniqueViolation(error) ? clientKnown(clientId) : error
  }
}

/** @throws AppError 404 */
export async function getClient(ctx: PortalContext, clientId: string): Promise<ClientRow> {
  const row = await findClientPrincipal(ctx.db, clientId)
  if (row === undefined) throw clientNotFound(clientId)
  return row
}

/** Changes a client under lock, in every process; the change is noted. @throws AppError 404, 412 */
function changeClient<T>(
  ctx: PortalContext,
  clientId: string,
  act: Act,
  versions: Versions,
  change: (trx: PortalTransaction, before: ClientRow) => Promise<T>,
): Promise<{ row: ClientRow; value: T }> {
  return ctx.changes.commit([subjectOf.client(clientId)], async (trx) => {
    await lockClientPrincipal(trx, clientId)
    const before = await read(trx, clientId)
    if (versions !== undefined && !versions.includes(before.version)) throw preconditionFailed()
    const value = await change(trx, before)
    const row = await read(trx, clientId)
    await recordAudit(trx, act, { ...resource(clientId), before, after: row })
    return { row, value }
  })
}

/** @throws AppError 400, 404, 409 for a status that it cannot have, 412 */
export async function updateClient(
  ctx: PortalContext,
  clientId: string,
  changes: ClientChanges,
  act: Act,
  versions: Versions,
): Promise<ClientRow> {
  const { name, environment, tokenLifetimeSeconds, superuser, status, grants, mailAddress } = changes
  const { row } = await changeClient(ctx, clientId, act, versions, async (trx, before) => {
    // Only approval hands out a secret, so there is no other way to become Active at first.
    if (status === 'Active' && before.approved_at === null) throw illegalClientStatus(before.status, status)
    await ctx.identityClients.within(trx).update(clientId, {
      ...(name === undefined ? {} : { name }),
      ...(tokenLifetimeSeconds === undefined ? {} : { tokenLifetimeSeconds }),
      ...(status === undefined ? {} : { status }),
    })
    const fields = { name, environment, tokenLifetimeSeconds, superuser, status }
    const contact = mailAddress === null ? '' : mailAddress
    await updateClientPrincipal(trx, clientId, { ...fields, mailAddress: contact }, act)
    if (grants !== undefined) await setGrants(trx, clientId, grants)
  })
  return row
}

/**
 * Sends the secret where it can be sent. Last in its transaction: what could not be sent was never given, and nothing
 * is sent that is not kept.
 * @returns the secret when it must be shown instead
 * @throws AppError 400 for an address that mail servers do not know, 502 when the mail server refuses
 */
async function handOut(ctx: PortalContext, client: ClientRow, secret: string): Promise<string | undefined> {
  const { client_id: clientId, mail_address: to } = client
  if (ctx.mail === undefined || to === '') return secret
  await ctx.mail.sendClientSecret({ to, clientId, secret })
  return undefined
}

/** In Progress to Active, and the client's first secret. @throws AppError 404, 409, 412, 502 */
export async function approveClient(
  ctx: PortalContext,
  clientId: string,
  act: Act,
  versions: Versions,
): Promise<HandedOut> {
  const { row, value } = await changeClient(ctx, clientId, act, versions, async (trx, before) => {
    if (before.status !== 'In Progress') throw illegalClientStatus(before.status, 'Active')
    const { secret } = await ctx.identityClients.within(trx).approve(clientId)
    await updateClientPrincipal(trx, clientId, { status: 'Active', approvedAt: new Date() }, act)
    return handOut(ctx, before, secret)
  })
  return { row, secret: value }
}

/** A new secret; the old one works for `overlapSeconds` more. @throws AppError 404, 409 before approval, 412, 502 */
export async function rotateClientSecret(
  ctx: PortalContext,
  clientId: string,
  overlapSeconds: number,
  act: Act,
  versions: Versions,
): Promise<HandedOut> {
  const { row, value } = await changeClient(ctx, clientId, act, versions, async (trx, before) => {
    if (before.approved_at === null) throw illegalClientStatus(before.status, 'one with a secret')
    const { secret } = await ctx.identityClients.within(trx).rotateSecret(clientId, overlapSeconds)
    await updateClientPrincipal(trx, clientId, {}, act)
    return handOut(ctx, before, secret)
  })
  return { row, secret: value }
}

/** Its tokens are refused within a second, everywhere. @throws AppError 404, 412 */
export async function deleteClient(
  ctx: PortalContext,
  clientId: string,
  act: Act,
  versions: Versions,
): Promise<void> {
  await ctx.changes.commit([subjectOf.client(clientId)], async (trx) => {
    await lockClientPrincipal(trx, clientId)
    const before = await read(trx, clientId)
    if (versions !== undefined && !versions.includes(before.version)) throw preconditionFailed()
    await ctx.identityClients.within(trx).remove(clientId)
    await deleteClientPrincipal(trx, clientId)
    await recordAudit(trx, act, { ...resource(clientId), before })
  })
}

/** The clients that the portal knows. */
export const listClients = (ctx: PortalContext, query: Parameters<typeof listClientRows>[1]) =>
  listClientRows(ctx.db, query)
