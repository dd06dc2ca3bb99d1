import { type Selectable, sql } from '@atrium/kernel/db'
import { type Cursor, type Listing, readAfter } from './listing.ts'
import type { StoredTask, VersionsTable, WorkflowsDb } from './tables.ts'

export type VersionRow = Selectable<VersionsTable>

/** @returns undefined when there is one already @throws the foreign-key violation of a workflow that is gone */
export async function insertVersion(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  versionId: string,
  tasks: readonly StoredTask[],
): Promise<VersionRow | undefined> {
  return db
    .insertInto('workflows.versions')
    .values({
      space_id: spaceId,
      workflow_id: workflowId,
      version_id: versionId,
      tasks: JSON.stringify(tasks),
    })
    .onConflict((conflict) => conflict.columns(['space_id', 'workflow_id', 'version_id']).doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** Whoever calls this holds the row. */
export async function updateVersion(
  trx: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  versionId: string,
  tasks: readonly StoredTask[],
): Promise<VersionRow> {
  return trx
    .updateTable('workflows.versions')
    .set({
      tasks: JSON.stringify(tasks),
      row_version: sql<number>`row_version + 1`,
      updated_at: sql<Date>`now()`,
    })
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('version_id', '=', versionId)
    .returningAll()
    .executeTakeFirstOrThrow()
}

const versionOf = (db: WorkflowsDb, spaceId: string, workflowId: string, versionId: string) =>
  db
    .selectFrom('workflows.versions')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('version_id', '=', versionId)

export async function selectVersion(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  versionId: string,
): Promise<VersionRow | undefined> {
  return versionOf(db, spaceId, workflowId, versionId).executeTakeFirst()
}

/**
 * The same, held until the transaction ends.
 * @param strength `update` for whoever changes or deletes it; `share` for whoever begins a run of it: then it stays as
 *   it was read until the run is there for all to see. They hold the workflow first (`lockWorkflow`, `key share`), in the
 *   order of its deletion, or the two would wait for each other
 */
export async function lockVersion(
  trx: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  versionId: string,
  strength: 'update' | 'share',
): Promise<VersionRow | undefined> {
  const query = versionOf(trx, spaceId, workflowId, versionId)
  return (strength === 'update' ? query.forUpdate() : query.forShare()).executeTakeFirst()
}

/** Deletes a version with its stage assignments. */
export async function deleteVersionRow(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  versionId: string,
): Promise<void> {
  await db
    .deleteFrom('workflows.versions')
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('version_id', '=', versionId)
    .execute()
}

const listingOf = (spaceId: string, workflowId: string): Listing => ({
  table: sql`workflows.versions`,
  where: [sql`space_id = ${spaceId}`, sql`workflow_id = ${workflowId}`],
  id: sql.ref('version_id'),
  size: sql.ref('size'),
})

/** Versions in the order of creation, after a cursor. */
export const readVersions = (
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  after: Cursor | undefined,
  most: number,
): AsyncGenerator<VersionRow[]> => readAfter<VersionRow>(db, listingOf(spaceId, workflowId), after, most)

export interface PageEnd {
  /** The last row of the page, where another page follows. */
  readonly next: Cursor | undefined
  /** Rows of all pages. */
  readonly total: number
}

/** Where a page ends, before any of it is read. */
export async function selectPageEnd(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  after: Cursor | undefined,
  most: number,
): Promise<PageEnd> {
  const beyond =
    after === undefined
      ? sql`true`
      : sql`(created_at, version_id) > (${after.createdAt}::timestamptz, ${after.id})`
  const { rows } = await sql<{ total: number; created_at: string | null; version_id: string; more: boolean }>`
    SELECT (SELECT count(*) FROM workflows.versions
             WHERE space_id = ${spaceId} AND workflow_id = ${workflowId}) AS total,
           last.created_at::text AS created_at, last.version_id, last.place = ${most} AND last.more AS more
      FROM (SELECT 1) AS one LEFT JOIN LATERAL (
        SELECT created_at, version_id, place, lead(place) OVER (ORDER BY place) IS NOT NULL AS more FROM (
          SELECT created_at, version_id, row_number() OVER (ORDER BY created_at, version_id) AS place
            FROM workflows.versions
           WHERE space_id = ${spaceId} AND workflow_id = ${workflowId} AND ${beyond}
           ORDER BY created_at, version_id LIMIT ${most + 1}) AS keys
      ) AS last ON last.place = ${most}`.execute(db)
  const [row] = rows
  const next =
    row?.more === true && row.created_at !== null
      ? { createdAt: row.created_at, id: row.version_id }
      : undefined
  return { next, total: row?.total ?? 0 }
}
