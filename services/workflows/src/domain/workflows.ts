import type { Act } from '@atrium/access'
import { isForeignKeyViolation } from '@atrium/kernel/db'
import { preconditionFailed } from '@atrium/kernel/errors'
import type { WorkflowsContext } from '../context.ts'
import type { ListQuery } from '../contract/common.ts'
import type { WorkflowInput } from '../contract/workflows.ts'
import { spaceNotFound, workflowHasActiveRuns, workflowNotFound } from '../errors.ts'
import { hasActiveRuns } from '../queries/active-runs.ts'
import type { WorkflowsDb } from '../queries/tables.ts'
import {
  countWorkflows,
  deleteWorkflowRow,
  insertWorkflow,
  lockWorkflow,
  readWorkflows,
  selectWorkflow,
  updateWorkflow,
  type WorkflowRow,
} from '../queries/workflows.ts'
import { begun, type Found } from './begun.ts'
import { demandRoom } from './quotas.ts'
import { anyOf, type Upsertable } from './upsertable.ts'

type Ctx = Pick<WorkflowsContext, 'db' | 'audit' | 'env'>

const shown = ({ name, max_parallel_runs, row_version }: WorkflowRow) => ({
  name,
  maxParallelRuns: max_parallel_runs,
  version: row_version,
})

/**
 * Makes a workflow, or renames the one of this id.
 * @param versions that it may have now; undefined: any, or none at all
 * @throws AppError 404 when the space goes at this moment, 409 where it has as many as it may, 412
 */
export async function putWorkflow(
  ctx: Ctx,
  spaceId: string,
  workflowId: string,
  { name, maxParallelRuns }: WorkflowInput,
  act: Act,
  versions: Upsertable,
): Promise<WorkflowRow> {
  const fields = { name, maxParallelRuns }
  const put = async (trx: WorkflowsDb): Promise<WorkflowRow> => {
    const made = versions === undefined ? await insertWorkflow(trx, spaceId, workflowId, fields) : undefined
    if (made !== undefined) await demandRoom(ctx, trx, 'workflows', spaceId)
    const row = made ?? (await updateWorkflow(trx, spaceId, workflowId, fields, anyOf(versions)))
    if (row === undefined) throw preconditionFailed()
    await ctx.audit.record(trx, act, {
      spaceId,
      resourceType: 'workflow',
      resourceId: workflowId,
      after: shown(row),
    })
    return row
  }
  return ctx.db
    .transaction()
    .execute(put)
    .catch((error: unknown) => {
      throw isForeignKeyViolation(error) ? spaceNotFound(spaceId) : error
    })
}

/** @throws AppError 404 */
export async function getWorkflow(
  { db }: Pick<Ctx, 'db'>,
  spaceId: string,
  workflowId: string,
): Promise<WorkflowRow> {
  const row = await selectWorkflow(db, spaceId, workflowId)
  if (row === undefined) throw workflowNotFound(workflowId)
  return row
}

export async function listWorkflows(
  { db }: Pick<Ctx, 'db'>,
  spaceId: string,
  query: ListQuery,
): Promise<Found<WorkflowRow>> {
  const [rows, total] = await Promise.all([
    begun(readWorkflows(db, spaceId, query)),
    countWorkflows(db, spaceId),
  ])
  return { rows, total }
}

/**
 * Deletes a workflow with all that belongs to it.
 * @throws AppError 404, 409 while it has runs that have not ended, 412
 */
export async function deleteWorkflow(
  ctx: Ctx,
  spaceId: string,
  workflowId: string,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  await ctx.db.transaction().execute(async (trx) => {
    const row = await lockWorkflow(trx, spaceId, workflowId, 'update')
    if (row === undefined) throw workflowNotFound(workflowId)
    if (versions !== undefined && !versions.includes(row.row_version)) throw preconditionFailed()
    if (await hasActiveRuns(trx, spaceId, workflowId)) throw workflowHasActiveRuns(workflowId)
    await deleteWorkflowRow(trx, spaceId, workflowId)
    await ctx.audit.record(trx, act, {
      spaceId,
      resourceType: 'workflow',
      resourceId: workflowId,
      before: shown(row),
    })
  })
}
