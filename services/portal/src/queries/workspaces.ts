import type { Principal } from '@atrium/access'
import { withoutUndefined } from '@atrium/kernel/db'
import { type Selectable, sql } from 'kysely'
import { readRows } from './listing.ts'
import { scopeOf } from './spaces.ts'
import { type Actor, createdBy, modifiedBy } from './stamps.ts'
import type { MkflwWorkspacesTable, PortalDb, PortalTransaction } from './tables.ts'

export type WorkspaceRow = Selectable<MkflwWorkspacesTable>

interface Paging {
  readonly limit?: number
  readonly page?: number
}

export interface WorkspaceFields {
  readonly region?: string | undefined
  readonly clusterName?: string | undefined
  readonly namespaceName?: string | undefined
}

/** @throws the unique violation of `mkflw_workspaces_namespace_unique`, or the space's foreign-key violation */
export async function insertWorkspace(
  db: PortalDb,
  spaceId: string,
  workspaceId: string,
  fields: Required<{ [K in keyof WorkspaceFields]: string }>,
  actor: Actor,
): Promise<WorkspaceRow> {
  return db
    .insertInto('portal.mkflw_workspaces')
    .values({
      space_id: spaceId,
      workspace_id: workspaceId,
      region: fields.region,
      cluster_name: fields.clusterName,
      namespace_name: fields.namespaceName,
      ...createdBy(actor),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** Reads a workspace and keeps others from changing it until the transaction ends. */
export async function lockWorkspace(
  trx: PortalTransaction,
  spaceId: string,
  workspaceId: string,
): Promise<WorkspaceRow | undefined> {
  return trx
    .selectFrom('portal.mkflw_workspaces')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('workspace_id', '=', workspaceId)
    .forUpdate()
    .executeTakeFirst()
}

/** @throws the unique violation of `mkflw_workspaces_namespace_unique` */
export async function updateWorkspaceById(
  db: PortalDb,
  spaceId: string,
  workspaceId: string,
  fields: WorkspaceFields,
  actor: Actor,
  versions: readonly number[] | undefined,
): Promise<WorkspaceRow | undefined> {
  return db
    .updateTable('portal.mkflw_workspaces')
    .set({
      ...withoutUndefined({
        region: fields.region,
        cluster_name: fields.clusterName,
        namespace_name: fields.namespaceName,
      }),
      ...modifiedBy(actor),
    })
    .where('space_id', '=', spaceId)
    .where('workspace_id', '=', workspaceId)
    .$if(versions !== undefined, (query) => query.where('version', 'in', versions ?? []))
    .returningAll()
    .executeTakeFirst()
}

/** @returns whether a row was deleted */
export async function deleteWorkspaceById(
  db: PortalDb,
  spaceId: string,
  workspaceId: string,
  versions: readonly number[] | undefined,
): Promise<boolean> {
  const row = await db
    .deleteFrom('portal.mkflw_workspaces')
    .where('space_id', '=', spaceId)
    .where('workspace_id', '=', workspaceId)
    .$if(versions !== undefined, (query) => query.where('version', 'in', versions ?? []))
    .returning('workspace_id')
    .executeTakeFirst()
  return row !== undefined
}

export const readWorkspaces = (
  db: PortalDb,
  spaceId: string,
  query: Paging & { readonly namespaceName?: string },
): AsyncGenerator<WorkspaceRow[]> => {
  const { namespaceName } = query
  const where = [
    sql`space_id = ${spaceId}`,
    ...(namespaceName === undefined ? [] : [sql`namespace_name = ${namespaceName}`]),
  ]
  const tieBreak = [sql.ref('workspace_id')]
  return readRows<WorkspaceRow>(
    db,
    { select: sql`*`, from: sql`portal.mkflw_workspaces`, where, tieBreak },
    query,
  )
}

export interface SpaceWorkspacesRow {
  readonly space_id: string
  readonly space_name: string
  readonly description: string
  readonly app_id: string
  readonly itsm_service_offering: string
  readonly workspaces: { workspaceId: string; clusterName: string; namespaceName: string; region: string }[]
}

/** Spaces that have workspaces (on one cluster, when named), each with them, in the order of space ids. */
export function readSpacesWithWorkspaces(
  db: PortalDb,
  scope: Principal | 'all',
  query: Paging & { readonly clusterName?: string },
): AsyncGenerator<SpaceWorkspacesRow[]> {
  const { clusterName } = query
  const mapped = sql`(
    SELECT s.space_id, s.space_name, s.description, s.app_id, s.itsm_service_offering,
           json_agg(json_build_object('workspaceId', w.workspace_id, 'clusterName', w.cluster_name,
             'namespaceName', w.namespace_name, 'region', w.region) ORDER BY w.workspace_id) AS workspaces
      FROM portal.spaces s JOIN portal.mkflw_workspaces w ON w.space_id = s.space_id
     WHERE s.deleted_at IS NULL AND ${clusterName === undefined ? sql`true` : sql`w.cluster_name = ${clusterName}`}
       AND ${scope === 'all' ? sql`true` : scopeOf(scope)}
     GROUP BY s.space_id) AS mapped`
  const listing = { select: sql`*`, from: mapped, where: [sql`true`], tieBreak: [sql.ref('space_id')] }
  return readRows<SpaceWorkspacesRow>(db, listing, query)
}
