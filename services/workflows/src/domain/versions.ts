import type { Act } from '@atrium/access'
import { isForeignKeyViolation } from '@atrium/kernel/db'
import { preconditionFailed } from '@atrium/kernel/errors'
import type { WorkflowsContext } from '../context.ts'
import { IDENTIFIER, type PagedQuery } from '../contract/common.ts'
import { invalidTasks, versionHasActiveRuns, versionNotFound, workflowNotFound } from '../errors.ts'
import { hasActiveRuns } from '../queries/active-runs.ts'
import type { WorkflowsDb } from '../queries/tables.ts'
import {
  deleteVersionRow,
  insertVersion,
  lockVersion,
  readVersions,
  selectPageEnd,
  selectVersion,
  updateVersion,
  type VersionRow,
} from '../queries/versions.ts'
import { selectWorkflow } from '../queries/workflows.ts'
import { begun } from './begun.ts'
import { checkTasks } from './check-tasks.ts'
import { demandRoom } from './quotas.ts'
import { anyOf, type Upsertable } from './upsertable.ts'

type Ctx = Pick<WorkflowsContext, 'db' | 'audit' | 'env'>

/** What names a version. */
export interface VersionRef {
  readonly spaceId: string
  readonly workflowId: string
  readonly versionId: string
}

/** A version as the audit log shows it: arguments may hold what is nobody else's business. */
const shown = ({ workflow_id, tasks, row_version }: VersionRow) => ({
  workflowId: workflow_id,
  tasks: tasks.map(({ name, templateRef: { name: template, version } }) => `${name}: ${template} ${version}`),
  version: row_version,
})

const entryOf = ({ spaceId, versionId }: VersionRef) => ({
  spaceId,
  resourceType: 'workflow_version',
  resourceId: versionId,
})

/**
 * Makes a version, or replaces the one of this id.
 * @param given tasks as the client wrote them
 * @param versions that the row may have now; undefined: any, or none at all
 * @throws AppError 400, 404 without such a workflow, 409 where active runs use what would be replaced, or the
 *   space has as many as it may, 412
 */
export async function putVersion(
  ctx: Ctx,
  ref: VersionRef,
  given: readonly unknown[],
  act: Act,
  versions: Upsertable,
): Promise<VersionRow> {
  const { spaceId, workflowId, versionId } = ref
  if ((await selectWorkflow(ctx.db, spaceId, workflowId)) === undefined) throw workflowNotFound(workflowId)
  const { tasks, faults } = checkTasks(given)
  if (faults.length > 0) throw invalidTasks(faults)
  const put = async (trx: WorkflowsDb): Promise<VersionRow> => {
    const made =
      versions === undefined ? await insertVersion(trx, spaceId, workflowId, versionId, tasks) : undefined
    if (made !== undefined) await demandRoom(ctx, trx, 'versions', spaceId)
    const before =
      made === undefined ? await lockVersion(trx, spaceId, workflowId, versionId, 'update') : undefined
    if (made === undefined && before === undefined) throw preconditionFailed()
    if (before !== undefined && anyOf(versions)?.includes(before.row_version) === false)
      throw preconditionFailed()
    const isSame = before !== undefined && JSON.stringify(before.tasks) === JSON.stringify(tasks)
    if (!isSame && before !== undefined && (await hasActiveRuns(trx, spaceId, workflowId, versionId)))
      throw versionHasActiveRuns(versionId)
    const row = made ?? (await updateVersion(trx, spaceId, workflowId, versionId, tasks))
    await ctx.audit.record(trx, act, {
      ...entryOf(ref),
      before: before && shown(before),
      after: shown(row),
    })
    return row
  }
  return ctx.db
    .transaction()
    .execute(put)
    .catch((error: unknown) => {
      throw isForeignKeyViolation(error) ? workflowNotFound(workflowId) : error
    })
}

/** @throws AppError 404, for the version or its workflow */
export async function getVersion(
  { db }: Pick<Ctx, 'db'>,
  { spaceId, workflowId, versionId }: VersionRef,
): Promise<VersionRow> {
  const row = await selectVersion(db, spaceId, workflowId, versionId)
  if (row === undefined) throw versionNotFound(versionId)
  return row
}

export interface VersionsPage {
  readonly rows: AsyncGenerator<VersionRow[]>
  readonly nextPageToken: string
  readonly totalSize: number
}

/** A page of a workflow's versions, in the order of creation. @throws AppError 400 for a token that is none, 404 */
export async function listVersions(
  { db, pageTokens }: Pick<WorkflowsContext, 'db' | 'pageTokens'>,
  spaceId: string,
  workflowId: string,
  { pageSize, pageToken }: PagedQuery,
): Promise<VersionsPage> {
  if ((await selectWorkflow(db, spaceId, workflowId)) === undefined) throw workflowNotFound(workflowId)
  const list = ['versions', spaceId.toLowerCase(), workflowId]
  const [createdAt, id] = pageTokens.read(list, pageToken) ?? []
  const after = createdAt === undefined || id === undefined ? undefined : { createdAt, id }
  const { next, total } = await selectPageEnd(db, spaceId, workflowId, after, pageSize)
  const rows = await begun(readVersions(db, spaceId, workflowId, after, pageSize))
  const nextPageToken = next === undefined ? '' : pageTokens.issue(list, [next.createdAt, next.id])
  return { rows, nextPageToken, totalSize: total }
}

/**
 * Deletes a version with the stage assignments that refer to it.
 * @throws AppError 404, 409 while it has runs that have not ended, 412
 */
export async function deleteVersion(
  ctx: Ctx,
  ref: VersionRef,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  const { spaceId, workflowId, versionId } = ref
  await ctx.db.transaction().execute(async (trx) => {
    const before = await lockVersion(trx, spaceId, workflowId, versionId, 'update')
    if (before === undefined) throw versionNotFound(versionId)
    if (versions !== undefined && !versions.includes(before.row_version)) throw preconditionFailed()
    if (await hasActiveRuns(trx, spaceId, workflowId, versionId)) throw versionHasActiveRuns(versionId)
    await deleteVersionRow(trx, spaceId, workflowId, versionId)
    await ctx.audit.record(trx, act, { ...entryOf(ref), before: shown(before) })
  })
}

/**
 * What is wrong with tasks, without keeping them. The workflow need not be there yet: a file is checked before anything
 * of it is made.
 * @throws AppError 404 where no workflow can have this id
 */
export function validateTasks(workflowId: string, given: readonly unknown[]): readonly string[] {
  if (!IDENTIFIER.test(workflowId)) throw workflowNotFound(workflowId)
  return checkTasks(given).faults
}
