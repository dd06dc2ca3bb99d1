import { deleteInParts } from '@atrium/kernel/db'
import { sql } from 'kysely'
import { type Listed, type ListQuery, listRows, plainOrder, textOrder } from './listing.ts'
import type { SpaceRow } from './spaces.ts'
import { type Actor, modifiedBy } from './stamps.ts'
import type { PortalDb, PortalTransaction } from './tables.ts'

/** The caller holds the row. */
export async function closeSpaceById(
  trx: PortalTransaction,
  spaceId: string,
  graceDays: number,
  actor: Actor,
): Promise<SpaceRow> {
  return trx
    .updateTable('portal.spaces')
    .set({
      deleted_at: sql`now()`,
      deleted_by_id: actor.qxId,
      deleted_by_name: actor.name,
      remove_after: sql`now() + make_interval(days => ${graceDays})`,
      ...modifiedBy(actor),
    })
    .where('space_id', '=', spaceId)
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Reads a space that can still be brought back, and keeps others from doing so until the transaction ends. */
export async function lockDeletedSpace(
  trx: PortalTransaction,
  spaceId: string,
): Promise<SpaceRow | undefined> {
  return trx
    .selectFrom('portal.spaces')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('deleted_at', 'is not', null)
    .where('remove_after', '>', sql<Date>`now()`)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

/** The caller holds the row. */
export async function reopenSpaceById(
  trx: PortalTransaction,
  spaceId: string,
  actor: Actor,
): Promise<SpaceRow> {
  return trx
    .updateTable('portal.spaces')
    .set({
      deleted_at: null,
      deleted_by_id: null,
      deleted_by_name: null,
      remove_after: null,
      ...modifiedBy(actor),
    })
    .where('space_id', '=', spaceId)
    .returningAll()
    .executeTakeFirstOrThrow()
}
/** By the item’s field; the contract offers these. */
const SORTABLE = {
  spaceId: plainOrder('space_id'),
  spaceName: textOrder('space_name'),
  appId: textOrder('app_id'),
  description: textOrder('description'),
  itsmServiceOffering: textOrder('itsm_service_offering'),
  createdAt: plainOrder('created_at'),
  deletedAt: plainOrder('deleted_at'),
  removedAfter: plainOrder('remove_after'),
}

/** Spaces that can still be brought back. */
export async function listDeletedSpaceRows(
  db: PortalDb,
  query: ListQuery<keyof typeof SORTABLE>,
): Promise<Listed<SpaceRow>> {
  const texts = ['space_name', 'app_id', 'description', 'itsm_service_offering', 'deleted_by_name']
  return listRows<SpaceRow>(
    db,
    {
      select: sql`*`,
      from: sql`portal.spaces`,
      where: [sql`deleted_at IS NOT NULL`, sql`remove_after > now()`],
      searched: texts.map((column) => sql.ref(column)),
      sortable: SORTABLE,
      tieBreak: [sql.ref('space_id')],
    },
    query,
  )
}

/** A minute more than the grace, so that who is bringing a space back at this moment has ended. */
const IS_OVER = sql`remove_after < now() - interval '1 minute'`

/** Spaces whose grace is over and whose data is still here. */
export async function selectSpacesToRemove(db: PortalDb): Promise<string[]> {
  const { rows } = await sql<{ space_id: string }>`
    SELECT space_id FROM portal.spaces WHERE deleted_at IS NOT NULL AND removed_at IS NULL AND ${IS_OVER}
     ORDER BY remove_after LIMIT 100`.execute(db)
  return rows.map((row) => row.space_id)
}

/** Those of the given spaces that nobody can bring back any more. */
export async function selectGoneSpaces(db: PortalDb, spaceIds: readonly string[]): Promise<string[]> {
  const { rows } = await sql<{ space_id: string }>`
    SELECT space_id FROM portal.spaces WHERE space_id = ANY(${spaceIds}::uuid[]) AND ${IS_OVER}`.execute(db)
  return rows.map((row) => row.space_id)
}

/** What goes with a space. Cost entries and their totals stay, and so does the audit log. */
const REMOVED = [
  'portal.memberships',
  'portal.client_grants',
  'portal.api_keys',
  'portal.mkflw_workspaces',
  'portal.cdh_links',
  'portal.space_budgets',
  'portal.invitations',
  'portal.budget_leases',
  'portal.key_monthly_spend',
  'portal.space_monthly_spend',
] as const

/** Deletes what belongs to a space, so many rows at a time that no statement takes long. May be repeated. */
export async function deleteSpaceRows(db: PortalDb, spaceId: string): Promise<void> {
  for (const table of REMOVED) await deleteInParts(db, table, sql`space_id = ${spaceId}`)
}

/** Notes that a space's data is gone; what is left names it in the books. @returns undefined where that is noted already */
export async function markSpaceRemoved(
  trx: PortalTransaction,
  spaceId: string,
): Promise<SpaceRow | undefined> {
  return trx
    .updateTable('portal.spaces')
    .set({ removed_at: sql`now()`, description: '', itsm_service_offering: '' })
    .where('space_id', '=', spaceId)
    .where('removed_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
}
