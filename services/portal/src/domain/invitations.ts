import { isForeignKeyViolation, isUniqueViolation } from '@atrium/kernel/db'
import { preconditionFailed } from '@atrium/kernel/errors'
import { newId } from '@atrium/kernel/ids'
import type { InvitationInput } from '../contract/invitations.ts'
import {
  alreadyMember,
  invitationAccepted,
  invitationEnded,
  invitationForAnother,
  invitationInvalid,
  invitationNotFound,
  spaceNotFound,
} from '../errors.ts'
import {
  endInvitation,
  type InvitationRow,
  insertInvitation,
  lockInvitation,
} from '../queries/invitations.ts'
import type { MemberRow } from '../queries/memberships.ts'
import { lockPersonByQNumber } from '../queries/people.ts'
import { lockSpace, type SpaceRow } from '../queries/spaces.ts'
import type { PortalTransaction } from '../queries/tables.ts'
import { subjectOf } from './access-changes.ts'
import { type Act, recordAudit } from './audit.ts'
import type { PortalContext } from './context.ts'
import { type InvitationClaims, readInvitation, signInvitation } from './invitation-token.ts'
import { joinSpace } from './members.ts'

const LIFETIME_MS = 7 * 86_400_000

const resource = (spaceId: string, invitationId: string) => ({
  spaceId,
  resourceType: 'invitation',
  resourceId: invitationId,
})

export type InvitationStatus = 'Pending' | 'Accepted' | 'Revoked' | 'Expired'

/** What it is now; the list's filter says the same in SQL. */
export function statusOf(row: InvitationRow): InvitationStatus {
  if (row.accepted_at !== null) return 'Accepted'
  if (row.revoked_at !== null) return 'Revoked'
  return row.expires_at.getTime() <= Date.now() ? 'Expired' : 'Pending'
}

/**
 * Invites whoever reads mail at an address. The token works once, for 7 days.
 * @returns the token when there is no mail to send it by
 * @throws AppError 404 for a space that has just gone, 502 when the mail server refuses: then there is no invitation
 */
export async function createInvitation(
  ctx: PortalContext,
  spaceId: string,
  input: InvitationInput,
  act: Act,
): Promise<{ row: InvitationRow; token: string | undefined }> {
  const claims = { spaceId, invitationId: newId(), expiresAt: new Date(Date.now() + LIFETIME_MS) }
  try {
    return await ctx.db.transaction().execute(async (trx) => {
      const space = await lockSpace(trx, spaceId)
      if (space === undefined) throw spaceNotFound(spaceId)
      const row = await insertInvitation(trx, { ...claims, ...input }, act)
      await recordAudit(trx, act, { ...resource(spaceId, claims.invitationId), after: row })
      return { row, token: await handOut(ctx, space, row, claims, act) }
    })
  } catch (error) {
    throw isForeignKeyViolation(error) ? spaceNotFound(spaceId) : error
  }
}

async function handOut(
  ctx: PortalContext,
  space: SpaceRow,
  row: InvitationRow,
  claims: InvitationClaims,
  act: Act,
): Promise<string | undefined> {
  const token = signInvitation(ctx.invitationKey, claims)
  if (ctx.mail === undefined) return token
  await ctx.mail.sendInvitation({
    to: row.mail_address,
    spaceName: space.space_name,
    invitedBy: act.name,
    // Behind the #, so that it stands in no server's log.
    link: `${ctx.publicUrl}/invitations/accept#token=${token}`,
  })
  return undefined
}

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
  if (status === 'Revoked') throw invitationEnded('revoked')
  if (status === 'Expired') throw invitationEnded('expired')
  return row
}

/**
 * Makes the caller, a person, a member by a token that was sent to their address. Whoever the platform knows by
 * another address cannot use it; whoever it does not know proves by the token that they read mail there.
 * @throws AppError 400, 403, 409 for somebody who is in the space already, 410
 */
export async function acceptInvitation(
  ctx: PortalContext,
  token: string,
  act: Act,
): Promise<{ member: MemberRow; spaceId: string; spaceName: string }> {
  const claims = readInvitation(ctx.invitationKey, token)
  if (claims === undefined) throw invitationInvalid()
  const { spaceId, invitationId } = claims
  try {
    return await ctx.changes.commit([subjectOf.user(act.qxId)], async (trx) => {
      const space = await lockSpace(trx, spaceId)
      const before = await lockOpenInvitation(trx, claims)
      const known = (await lockPersonByQNumber(trx, act.qxId))?.mail_address ?? ''
      if (known !== '' && known.toLowerCase() !== before.mail_address.toLowerCase()) {
        throw invitationForAnother()
      }
      const person = { qNumber: act.qxId, name: act.name, mailAddress: before.mail_address }
      const member = await joinSpace(trx, spaceId, { ...person, role: before.role }, act)
      const after = await endInvitation(trx, spaceId, invitationId, act.qxId, act)
      await recordAudit(trx, act, { ...resource(spaceId, invitationId), before, after })
      return { member, spaceId, spaceName: space?.space_name ?? '' }
    })
  } catch (error) {
    throw isUniqueViolation(error, 'memberships_pkey') ? alreadyMember() : error
  }
}
