import { type Selectable, sql } from 'kysely'
import { type Listed, type ListQuery, listRows, plainOrder, textOrder } from './listing.ts'
import { type Actor, createdBy, modifiedBy } from './stamps.ts'
import type { InvitationsTable, PortalDb, PortalTransaction, Role } from './tables.ts'

export type InvitationRow = Selectable<InvitationsTable>

/** @throws the foreign-key violation of the space */
export async function insertInvitation(
  trx: PortalTransaction,
  invitation: { spaceId: string; invitationId: string; mailAddress: string; role: Role; expiresAt: Date },
  delivery: InvitationRow['delivery'],
  actor: Actor,
): Promise<InvitationRow> {
  return trx
    .insertInto('portal.invitations')
    .values({
      space_id: invitation.spaceId,
      invitation_id: invitation.invitationId,
      mail_address: invitation.mailAddress,
      role: invitation.role,
      expires_at: invitation.expiresAt,
      ...approvalBy(delivery, actor),
      ...createdBy(actor),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Without a delivery there is no approval yet. */
const approvalBy = (delivery: InvitationRow['delivery'], actor: Actor) => ({
  delivery,
  approved_at: delivery === null ? null : new Date(),
  approved_by: delivery === null ? null : actor.qxId,
})

/** Reads an invitation and keeps others from changing it until the transaction ends. */
export async function lockInvitation(
  trx: PortalTransaction,
  spaceId: string,
  invitationId: string,
): Promise<InvitationRow | undefined> {
  return trx
    .selectFrom('portal.invitations')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('invitation_id', '=', invitationId)
    .forUpdate()
    .executeTakeFirst()
}

/** Marks it as accepted by a person, or as revoked when there is none. The caller holds the row. */
export async function endInvitation(
  trx: PortalTransaction,
  spaceId: string,
  invitationId: string,
  acceptedBy: string | undefined,
  actor: Actor,
): Promise<InvitationRow> {
  const end =
    acceptedBy === undefined
      ? { revoked_at: sql<Date>`now()` }
      : { accepted_at: sql<Date>`now()`, accepted_by: acceptedBy }
  return trx
    .updateTable('portal.invitations')
    .set({ ...end, ...modifiedBy(actor) })
    .where('space_id', '=', spaceId)
    .where('invitation_id', '=', invitationId)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** It can be accepted until `expiresAt`. The caller holds the row. */
export async function approveInvitationById(
  trx: PortalTransaction,
  { space_id, invitation_id }: InvitationRow,
  delivery: 'mail' | 'answer',
  expiresAt: Date,
  actor: Actor,
): Promise<InvitationRow> {
  return trx
    .updateTable('portal.invitations')
    .set({ ...approvalBy(delivery, actor), expires_at: expiresAt, ...modifiedBy(actor) })
    .where('space_id', '=', space_id)
    .where('invitation_id', '=', invitation_id)
    .returningAll()
    .executeTakeFirstOrThrow()
}

const STATUS = sql`CASE WHEN accepted_at IS NOT NULL THEN 'Accepted' WHEN revoked_at IS NOT NULL THEN 'Revoked'
  WHEN expires_at <= now() THEN 'Expired' WHEN approved_at IS NULL THEN 'Requested' ELSE 'Pending' END`
/** By the item’s field; the contract offers these. */
const SORTABLE = {
  invitationId: plainOrder('invitation_id'),
  spaceId: plainOrder('space_id'),
  mailAddress: textOrder('mail_address'),
  role: plainOrder('role'),
  status: STATUS,
  delivery: plainOrder('delivery'),
  expiresAt: plainOrder('expires_at'),
  approvedAt: plainOrder('approved_at'),
  approvedBy: plainOrder('approved_by'),
  acceptedAt: plainOrder('accepted_at'),
  acceptedBy: plainOrder('accepted_by'),
  revokedAt: plainOrder('revoked_at'),
  createdAt: plainOrder('created_at'),
  updatedAt: plainOrder('modified_at'),
}

/** Of one space, or of all when `spaceId` is undefined. */
export async function listInvitationRows(
  db: PortalDb,
  spaceId: string | undefined,
  query: ListQuery<keyof typeof SORTABLE> & { readonly status?: string },
): Promise<Listed<InvitationRow>> {
  return listRows<InvitationRow>(
    db,
    {
      select: sql`*`,
      from: sql`portal.invitations`,
      where: [
        spaceId === undefined ? sql`true` : sql`space_id = ${spaceId}`,
        ...(query.status === undefined ? [] : [sql`(${STATUS}) = ${query.status}`]),
      ],
      searched: ['mail_address', 'role', 'created_by_name'].map((column) => sql.ref(column)),
      sortable: SORTABLE,
      tieBreak: [sql.ref('invitation_id')],
    },
    query,
  )
}
