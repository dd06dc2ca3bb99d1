import type { Principal } from '@atrium/access'
import { isForeignKeyViolation, isUniqueViolation } from '@atrium/kernel/db'
import { preconditionFailed } from '@atrium/kernel/errors'
import { newId } from '@atrium/kernel/ids'
import type { PortalContext } from '../context.ts'
import type { WorkspaceChanges, WorkspaceInput } from '../contract/workspaces.ts'
import { namespaceExists, spaceNotFound, workspaceNotFound } from '../errors.ts'
import type { PortalTransaction } from '../queries/tables.ts'
import {
  deleteWorkspaceById,
  insertWorkspace,
  lockWorkspace,
  readSpacesWithWorkspaces,
  readWorkspaces,
  type SpaceWorkspacesRow,
  updateWorkspaceById,
  type WorkspaceRow,
} from '../queries/workspaces.ts'
import { type Act, recordAudit } from './audit.ts'

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
  act: Act,
): Promise<WorkspaceRow> {
  try {
    return await ctx.db.transaction().execute(async (trx) => {
      const after = await insertWorkspace(trx, spaceId, newId(), input, act)
      await recordAudit(trx, act, { ...resource(spaceId, after.workspace_id), after })
      return after
    })
  } catch (error) {
    throw explain(error, input.namespaceName, spaceId)
  }
}

export function listWorkspaces(
  ctx: PortalContext,
  spaceId: string,
  query: Page & { readonly namespaceName?: string },
): AsyncGenerator<WorkspaceRow[]> {
  return readWorkspaces(ctx.db, spaceId, query)
}

/** @throws AppError 404, 409 when the new namespace is taken in the space, 412 */
export async function updateWorkspace(
  ctx: PortalContext,
  spaceId: string,
  workspaceId: string,
  changes: WorkspaceChanges,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<WorkspaceRow> {
  try {
    return await ctx.db.transaction().execute(async (trx) => {
      const before = await lockedWorkspace(trx, spaceId, workspaceId)
      const after = await updateWorkspaceById(trx, spaceId, workspaceId, changes, act, versions)
      if (after === undefined) throw preconditionFailed()
      await recordAudit(trx, act, { ...resource(spaceId, workspaceId), before, after })
      return after
    })
  } catch (error) {
    throw explain(error, changes.namespaceName, spaceId)
  }
}

/** @throws AppError 404, 412 */
export async function deleteWorkspace(
  ctx: PortalContext,
  spaceId: string,
  workspaceId: string,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  await ctx.db.transaction().execute(async (trx) => {
    const before = await lockedWorkspace(trx, spaceId, workspaceId)
    if (!(await deleteWorkspaceById(trx, spaceId, workspaceId, versions))) throw preconditionFailed()
    await recordAudit(trx, act, { ...resource(spaceId, workspaceId), before })
  })
}

const resource = (spaceId: string, workspaceId: string) => ({
  spaceId,
  resourceType: 'workspace',
  resourceId: workspaceId,
})

async function lockedWorkspace(
  trx: PortalTransaction,
  spaceId: string,
  workspaceId: string,
): Promise<WorkspaceRow> {
  const row = await lockWorkspace(trx, spaceId, workspaceId)
  if (row === undefined) throw workspaceNotFound(workspaceId)
  return row
}

/** Spaces with workspaces (on one cluster, when named): all for a superuser client, else those it has a role in. */
export async function listSpacesWithWorkflows(
  ctx: PortalContext,
  caller: Principal,
  query: Page & { readonly clusterName?: string },
): Promise<AsyncGenerator<SpaceWorkspacesRow[]>> {
  const scope = (await ctx.access.directory.isSuperuser(caller)) ? 'all' : caller
  return readSpacesWithWorkspaces(ctx.db, scope, query)
}
