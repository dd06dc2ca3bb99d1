import { type Selectable, sql } from 'kysely'
import { type Listed, type ListQuery, listRows, plainOrder, textOrder } from './listing.ts'
import { type Actor, createdBy, modifiedBy } from './stamps.ts'
import type { InvitationsTable, PortalDb, PortalTransaction, Role } from './tables.ts'

export type InvitationRow = Selectable<InvitationsTable>

/** @throws the foreign-key violation of the space */
export async function insertInvitation(
  trx: PortalTransaction,
  invitation: { spaceId: string; invitationId: string; mailAddress: string; role: Role; expiresAt: Date },
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
      ...createdBy(actor),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

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

const STATUS = sql`CASE WHEN accepted_at IS NOT NULL THEN 'Accepted' WHEN revoked_at IS NOT NULL THEN 'Revoked'
  WHEN expires_at <= now() THEN 'Expired' ELSE 'Pending' END`

export async function listInvitationRows(
  db: PortalDb,
  spaceId: string,
  query: ListQuery & { readonly status?: string },
): Promise<Listed<InvitationRow>> {
  return listRows<InvitationRow>(
    db,
    {
      select: sql`*`,
      from: sql`portal.invitations`,
      where: [
        sql`space_id = ${spaceId}`,
        ...(query.status === undefined ? [] : [sql`(${STATUS}) = ${query.status}`]),
      ],
      searched: ['mail_address', 'role', 'created_by_name'].map((column) => sql.ref(column)),
      sortable: {
        invitationId: plainOrder('invitation_id'),
        spaceId: plainOrder('space_id'),
        mailAddress: textOrder('mail_address'),
        role: plainOrder('role'),
        status: STATUS,
        expiresAt: plainOrder('expires_at'),
        acceptedAt: plainOrder('accepted_at'),
        acceptedBy: plainOrder('accepted_by'),
        revokedAt: plainOrder('revoked_at'),
        createdAt: plainOrder('created_at'),
        updatedAt: plainOrder('modified_at'),
      },
      tieBreak: [sql.ref('invitation_id')],
    },
    query,
  )
}
