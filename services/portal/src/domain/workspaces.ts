import type { Principal } from '@atrium/access'
import { isForeignKeyViolation, isUniqueViolation } from '@atrium/kernel/db'
import { newId } from '@atrium/kernel/ids'
import type { WorkspaceChanges, WorkspaceInput } from '../contract/workspaces.ts'
import { missed, namespaceExists, spaceNotFound, workspaceNotFound } from '../errors.ts'
import { inBatches } from '../queries/listing.ts'
import type { Actor } from '../queries/stamps.ts'
import {
  deleteWorkspaceById,
  findWorkspace,
  insertWorkspace,
  type SpaceWorkspacesRow,
  selectSpacesWithWorkspaces,
  selectWorkspaces,
  updateWorkspaceById,
  type WorkspaceRow,
} from '../queries/workspaces.ts'
import type { PortalContext } from './context.ts'

interface Page {
  readonly limit?: number
  readonly page?: number
}

function explain(error: unknown, namespaceName: string | undefined, spaceId: string): unknown {
  if (isUniqueViolation(error, 'mkflw_workspaces_namespace_unique'))
    return namespaceExists(namespaceName ?? '')
  return isForeignKeyViolation(error) ? spaceNotFound(spaceId) : error
}

/** @throws AppError 409 when the space has that namespace already */
export async function createWorkspace(
  ctx: PortalContext,
  spaceId: string,
  input: WorkspaceInput,
  actor: Actor,
): Promise<WorkspaceRow> {
  try {
    return await insertWorkspace(ctx.db, spaceId, newId(), input, actor)
  } catch (error) {
    throw explain(error, input.namespaceName, spaceId)
  }
}

export function listWorkspaces(
  ctx: PortalContext,
  spaceId: string,
  query: Page & { readonly namespaceName?: string },
): AsyncGenerator<WorkspaceRow[]> {
  return inBatches(
    query,
    (batch) => selectWorkspaces(ctx.db, spaceId, query.namespaceName, batch),
    (row) => row.workspace_id,
  )
}

/** @throws AppError 404, 409 when the new namespace is taken in the space, 412 */
export async function updateWorkspace(
  ctx: PortalContext,
  spaceId: string,
  workspaceId: string,
  changes: WorkspaceChanges,
  actor: Actor,
  versions: readonly number[] | undefined,
): Promise<WorkspaceRow> {
  let row: WorkspaceRow | undefined
  try {
    row = await updateWorkspaceById(ctx.db, spaceId, workspaceId, changes, actor, versions)
  } catch (error) {
    throw explain(error, changes.namespaceName, spaceId)
  }
  if (row === undefined) throw await whyMissed(ctx, spaceId, workspaceId)
  return row
}

/** @throws AppError 404, 412 */
export async function deleteWorkspace(
  ctx: PortalContext,
  spaceId: string,
  workspaceId: string,
  versions: readonly number[] | undefined,
): Promise<void> {
  if (await deleteWorkspaceById(ctx.db, spaceId, workspaceId, versions)) return
  throw await whyMissed(ctx, spaceId, workspaceId)
}

async function whyMissed(ctx: PortalContext, spaceId: string, workspaceId: string) {
  const row = await findWorkspace(ctx.db, spaceId, workspaceId)
  return missed(row !== undefined, workspaceNotFound(workspaceId))
}

/** Spaces with workspaces (on one cluster, when named): all for a superuser client, else those it has a role in. */
export async function listSpacesWithWorkflows(
  ctx: PortalContext,
  caller: Principal,
  query: Page & { readonly clusterName?: string },
): Promise<AsyncGenerator<SpaceWorkspacesRow[]>> {
  const scope = (await ctx.access.directory.isSuperuser(caller)) ? 'all' : caller
  return inBatches(
    query,
    (batch) => selectSpacesWithWorkspaces(ctx.db, scope, query.clusterName, batch),
    (row) => row.space_id,
  )
}
