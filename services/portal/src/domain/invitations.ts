import type { Principal } from '@atrium/access'
import type { InvitationPort } from '@atrium/identity'
import { isForeignKeyViolation, isUniqueViolation } from '@atrium/kernel/db'
import { preconditionFailed } from '@atrium/kernel/errors'
import { newId } from '@atrium/kernel/ids'
import type { PortalContext } from '../context.ts'
import type { InvitationInput } from '../contract/invitations.ts'
import {
  alreadyMember,
  invitationAccepted,
  invitationEnded,
  invitationForAnother,
  invitationInvalid,
  invitationNotFound,
  invitationNotRequested,
  nameTaken,
  spaceNotFound,
} from '../errors.ts'
import {
  approveInvitationById,
  endInvitation,
  type InvitationRow,
  insertInvitation,
  listInvitationRows,
  lockInvitation,
} from '../queries/invitations.ts'
import type { MemberRow } from '../queries/memberships.ts'
import { lockPersonByQNumber } from '../queries/people.ts'
import { lockSpace, type SpaceRow } from '../queries/spaces.ts'
import type { PortalTransaction } from '../queries/tables.ts'
import { subjectOf } from './access-changes.ts'
import { type Act, recordAudit } from './audit.ts'
import { type InvitationClaims, readInvitation, signInvitation } from './invitation-token.ts'
import { joinSpace } from './members.ts'

const LIFETIME_MS = 7 * 86_400_000

const resource = (spaceId: string, invitationId: string) => ({
  spaceId,
  resourceType: 'invitation',
  resourceId: invitationId,
})

export type InvitationStatus = 'Requested' | 'Pending' | 'Accepted' | 'Revoked' | 'Expired'

/** What it is now; the list's filter says the same in SQL. */
export function statusOf(row: InvitationRow): InvitationStatus {
  if (row.accepted_at !== null) return 'Accepted'
  if (row.revoked_at !== null) return 'Revoked'
  if (row.expires_at.getTime() <= Date.now()) return 'Expired'
  return row.approved_at === null ? 'Requested' : 'Pending'
}

/** An invitation, and its token where that is not mailed. */
export interface HandedOutInvitation {
  readonly row: InvitationRow
  readonly token: string | undefined
}

const deliveryOf = (ctx: PortalContext): 'mail' | 'answer' => (ctx.mail === undefined ? 'answer' : 'mail')
const expiry = (): Date => new Date(Date.now() + LIFETIME_MS)

/**
 * Invites whoever reads mail at an address; the token works once, for 7 days. What an owner asks for waits for a
 * superuser, as adding people is theirs, unless the operator lets owners invite.
 * @throws AppError 404 for a space that has just gone, 502 when the mail server refuses: then there is no invitation
 */
export async function createInvitation(
  ctx: PortalContext,
  spaceId: string,
  input: InvitationInput,
  caller: Principal,
  act: Act,
): Promise<HandedOutInvitation> {
  const claims = { spaceId, invitationId: newId(), expiresAt: expiry() }
  const isDirect =
    ctx.env.ATRIUM_OWNER_INVITATIONS === 'direct' || (await ctx.access.directory.isSuperuser(caller))
  try {
    return await ctx.db.transaction().execute(async (trx) => {
      const space = await lockSpace(trx, spaceId)
      if (space === undefined) throw spaceNotFound(spaceId)
      const delivery = isDirect ? deliveryOf(ctx) : null
      const row = await insertInvitation(trx, { ...claims, ...input }, delivery, act)
      await recordAudit(trx, act, { ...resource(spaceId, claims.invitationId), after: row })
      return { row, token: isDirect ? await handOut(ctx, space, row) : undefined }
    })
  } catch (error) {
    throw isForeignKeyViolation(error) ? spaceNotFound(spaceId) : error
  }
}

/**
 * Lets an owner's invitation go out; its 7 days begin now.
 * @throws AppError 404, 409 when it does not wait, 412, 502 when the mail server refuses: then it still waits
 */
export async function approveInvitation(
  ctx: PortalContext,
  spaceId: string,
  invitationId: string,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<HandedOutInvitation> {
  return ctx.db.transaction().execute(async (trx) => {
    const space = await lockSpace(trx, spaceId)
    if (space === undefined) throw spaceNotFound(spaceId)
    const before = await lockInvitation(trx, spaceId, invitationId)
    if (before === undefined) throw invitationNotFound(invitationId)
    if (versions !== undefined && !versions.includes(before.version)) throw preconditionFailed()
    const status = statusOf(before)
    if (status !== 'Requested') throw invitationNotRequested(status)
    const row = await approveInvitationById(trx, before, deliveryOf(ctx), expiry(), act)
    await recordAudit(trx, act, { ...resource(spaceId, invitationId), before, after: row })
    return { row, token: await handOut(ctx, space, row) }
  })
}

/** Last in its transaction: nothing is sent that is not kept. @returns the token when there is no mail to send it by */
async function handOut(ctx: PortalContext, space: SpaceRow, row: InvitationRow): Promise<string | undefined> {
  const token = signInvitation(ctx.invitationKeys[0], {
    spaceId: row.space_id,
    invitationId: row.invitation_id,
    expiresAt: row.expires_at,
  })
  if (ctx.mail === undefined) return token
  await ctx.mail.sendInvitation({
    to: row.mail_address,
    spaceName: space.space_name,
    invitedBy: row.created_by_name,
    link: linkOf(ctx, token),
  })
  return undefined
}

/** To the page where whoever has no account makes one; else to the console's, behind the # that no server logs. */
const linkOf = (ctx: PortalContext, token: string): string =>
  ctx.invitationPage === undefined
    ? `${ctx.publicUrl}/invitations/accept#token=${token}`
    : `${ctx.invitationPage}?token=${token}`

/** Takes an invitation back; again is fine. @throws AppError 404, 409 when it has been accepted, 412 */
export async function revokeInvitation(
  ctx: PortalContext,
  spaceId: string,
  invitationId: string,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  await ctx.db.transaction().execute(async (trx) => {
    const before = await lockInvitation(trx, spaceId, invitationId)
    if (before === undefined) throw invitationNotFound(invitationId)
    if (versions !== undefined && !versions.includes(before.version)) throw preconditionFailed()
    if (before.accepted_at !== null) throw invitationAccepted()
    if (before.revoked_at !== null) return
    const after = await endInvitation(trx, spaceId, invitationId, undefined, act)
    await recordAudit(trx, act, { ...resource(spaceId, invitationId), before, after })
  })
}

/** @throws AppError 410 */
async function lockOpenInvitation(
  trx: PortalTransaction,
  { spaceId, invitationId }: InvitationClaims,
): Promise<InvitationRow> {
  const row = await lockInvitation(trx, spaceId, invitationId)
  // A signed token without its row: the space is gone, and its invitations with it.
  if (row === undefined) throw invitationEnded('revoked')
  const status = statusOf(row)
  if (status === 'Accepted') throw invitationEnded('used')
  // What was never approved has no token.
  if (status === 'Revoked' || status === 'Requested') throw invitationEnded('revoked')
  if (status === 'Expired') throw invitationEnded('expired')
  return row
}

/** What a token invites to. @throws AppError 400, 410 */
export async function openInvitation(
  ctx: Pick<PortalContext, 'db' | 'invitationKeys'>,
  token: string,
): Promise<{ spaceName: string }> {
  const claims = readInvitation(ctx.invitationKeys, token)
  if (claims === undefined) throw invitationInvalid()
  return ctx.db.transaction().execute(async (trx) => {
    const space = await lockSpace(trx, claims.spaceId)
    await lockOpenInvitation(trx, claims)
    return { spaceName: space?.space_name ?? '' }
  })
}

/** Makes the account of somebody new, in the transaction that accepts their invitation. */
type MakeAccount = Parameters<InvitationPort['acceptAsNewcomer']>[2]

/**
 * Makes the caller, a person, a member by a token. Whoever the platform knows by another address cannot use it. One that
 * was mailed proves that its bearer reads mail there, and their record gets the address; one that was handed over proves
 * nothing about it.
 * @throws AppError 400, 403, 409 for somebody who is in the space already, 410
 */
export async function acceptInvitation(
  ctx: Pick<PortalContext, 'changes' | 'invitationKeys'>,
  token: string,
  act: Act,
  makeAccount?: MakeAccount,
): Promise<{ member: MemberRow; spaceId: string; spaceName: string }> {
  const claims = readInvitation(ctx.invitationKeys, token)
  if (claims === undefined) throw invitationInvalid()
  const { spaceId, invitationId } = claims
  try {
    return await ctx.changes.commit([subjectOf.user(act.qxId)], async (trx) => {
      const space = await lockSpace(trx, spaceId)
      if (space === undefined) throw invitationEnded('revoked')
      const before = await lockOpenInvitation(trx, claims)
      const record = await lockPersonByQNumber(trx, act.qxId)
      const known = record?.mail_address ?? ''
      const isSameAddress = known.toLowerCase() === before.mail_address.toLowerCase()
      const isKnownByMail = before.delivery === 'mail' && isSameAddress
      // Whoever makes an account proves nothing but the mail: a name that somebody has is not theirs to take.
      if (makeAccount !== undefined && record !== undefined && !isKnownByMail) throw nameTaken(act.qxId)
      if (known !== '' && !isSameAddress) throw invitationForAnother()
      const proven = before.delivery === 'mail' ? { mailAddress: before.mail_address } : {}
      await makeAccount?.(trx, { mailAddress: proven.mailAddress, isKnownByMail })
      const person = { qNumber: act.qxId, name: act.name, ...proven, role: before.role }
      const member = await joinSpace(trx, spaceId, person, act)
      const after = await endInvitation(trx, spaceId, invitationId, act.qxId, act)
      await recordAudit(trx, act, { ...resource(spaceId, invitationId), before, after })
      return { member, spaceId, spaceName: space.space_name }
    })
  } catch (error) {
    throw isUniqueViolation(error, 'memberships_pkey') ? alreadyMember() : error
  }
}

/** The invitations to a space, or to all. */
export const listInvitations = (
  ctx: PortalContext,
  spaceId: string | undefined,
  query: Parameters<typeof listInvitationRows>[2],
) => listInvitationRows(ctx.db, spaceId, query)
