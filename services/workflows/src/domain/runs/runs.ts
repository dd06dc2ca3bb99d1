import type { Act } from '@atrium/access'
import { preconditionFailed } from '@atrium/kernel/errors'
import { isUuid } from '@atrium/kernel/ids'
import type { WorkflowsContext } from '../../context.ts'
import type { PagedQuery } from '../../contract/common.ts'
import {
  engineNotConfigured,
  runExpired,
  runNotEnded,
  runNotFailed,
  runNotFound,
  workflowNotFound,
} from '../../errors.ts'
import { updateRun } from '../../queries/run-changes.ts'
import {
  countRuns,
  deleteRunRow,
  type FullRunRow,
  lockRun,
  type RunPath,
  type RunRow,
  type RunSelection,
  selectRun,
  selectRunIds,
  selectRuns,
} from '../../queries/runs.ts'
import type { WorkflowsDb } from '../../queries/tables.ts'
import { selectWorkflow } from '../../queries/workflows.ts'
import { begun } from '../begun.ts'
import { isEnded, progressOf, RUN_TRANSITIONS } from '../run-states.ts'
import { claimOnce } from './idempotency.ts'

type Ctx = Pick<WorkflowsContext, 'db' | 'audit' | 'engine' | 'keeper' | 'log'>

/** A run with the state that the engine sees now; with the one on record when the engine does not answer. @throws AppError 404 */
export async function getRun(ctx: Ctx, path: RunPath): Promise<FullRunRow> {
  const row = isUuid(path.runId) ? await selectRun(ctx.db, path) : undefined
  if (row === undefined) throw runNotFound(path.runId)
  if (isEnded(row.status)) return row
  try {
    await ctx.keeper.look(path.spaceId, path.runId)
  } catch (err) {
    ctx.log.warn({ err, runId: path.runId }, 'a run could not be looked at; what is on record was answered')
    return row
  }
  const fresh = await selectRun(ctx.db, path)
  if (fresh === undefined) throw runNotFound(path.runId)
  return fresh
}

/** Runs whose tasks are read at a time: a run has up to 200 of them, with a message each. */
const RUNS_AT_A_TIME = 10

export interface RunPage {
  readonly runs: AsyncGenerator<readonly RunRow[]>
  /** Empty on the last page. */
  readonly next: string
  /** Runs that the filters let through, on all pages. */
  readonly total: number
}

/**
 * A page of the runs of a workflow, the newest first.
 * @throws AppError 400 for a token that is none, 404 when there is no such workflow
 */
export async function listRuns(
  { db, pageTokens }: Pick<WorkflowsContext, 'db' | 'pageTokens'>,
  { spaceId, workflowId }: Omit<RunPath, 'runId'>,
  selection: RunSelection,
  { pageSize, pageToken }: PagedQuery,
): Promise<RunPage> {
  const { status = '', versionId = '', stage = '' } = selection
  const list = ['runs', spaceId.toLowerCase(), workflowId, status, versionId, stage]
  const [before] = pageTokens.read(list, pageToken) ?? []
  const [ids, total] = await Promise.all([
    selectRunIds(db, { spaceId, workflowId, selection, before, most: pageSize + 1 }),
    countRuns(db, spaceId, workflowId, selection),
  ])
  if (ids.length === 0 && (await selectWorkflow(db, spaceId, workflowId)) === undefined)
    throw workflowNotFound(workflowId)
  const shown = ids.slice(0, pageSize)
  async function* read(): AsyncGenerator<RunRow[]> {
    for (let at = 0; at < shown.length; at += RUNS_AT_A_TIME)
      yield await selectRuns(db, spaceId, shown.slice(at, at + RUNS_AT_A_TIME))
  }
  const last = ids.length > pageSize ? shown.at(-1) : undefined
  return { runs: await begun(read()), next: last === undefined ? '' : pageTokens.issue(list, [last]), total }
}

const entryOf = ({ spaceId, runId }: RunPath) => ({ spaceId, resourceType: 'run', resourceId: runId })

const shownOf = ({ workflow_id, status, attempt }: RunRow) => ({ workflowId: workflow_id, status, attempt })

async function demandLocked(trx: WorkflowsDb, path: RunPath): Promise<RunRow> {
  const row = isUuid(path.runId) ? await lockRun(trx, path) : undefined
  if (row === undefined) throw runNotFound(path.runId)
  return row
}

/** The caller holds the row, so it is as it was seen. */
async function change(
  trx: WorkflowsDb,
  row: RunRow,
  changes: Partial<Omit<Parameters<typeof updateRun>[1], 'spaceId' | 'runId' | 'rowVersion'>>,
): Promise<void> {
  const { space_id: spaceId, run_id: runId, row_version: rowVersion, status, message, attempt } = row
  const now = {
    status,
    message,
    attempt,
    startedAt: row.started_at,
    completedAt: row.completed_at,
    tasks: [],
  }
  await updateRun(trx, { ...now, ...changes, spaceId, runId, rowVersion })
}

/**
 * Asks for the end of a run. One that ended, or is about to, stays as it is.
 * @throws AppError 404
 */
export async function cancelRun(ctx: Ctx, path: RunPath, act: Act): Promise<FullRunRow> {
  const isAsked = await ctx.db.transaction().execute(async (trx) => {
    const before = await demandLocked(trx, path)
    if (!RUN_TRANSITIONS[before.status].includes('Cancelling')) return before.status === 'Cancelling'
    await change(trx, before, { status: 'Cancelling', message: progressOf('Cancelling', before.tasks) })
    const after = { ...shownOf(before), status: 'Cancelling' }
    await ctx.audit.record(trx, act, { ...entryOf(path), before: shownOf(before), after })
    return true
  })
  if (isAsked) ctx.keeper.cancel(path.spaceId, path.runId)
  return getRecorded(ctx, path)
}

async function getRecorded({ db }: Pick<Ctx, 'db'>, path: RunPath): Promise<FullRunRow> {
  const row = await selectRun(db, path)
  if (row === undefined) throw runNotFound(path.runId)
  return row
}

/**
 * Runs what a failed run has not finished in a new attempt. A request with a key does so once, however often it comes.
 * @throws AppError 404, 409 unless the run failed and its workspace is there, or when the key stands for another request, 503
 */
export async function retryRun(
  ctx: Ctx,
  path: RunPath,
  act: Act,
  key: string | undefined,
): Promise<FullRunRow> {
  const isRetried = await ctx.db.transaction().execute(async (trx) => {
    const before = await demandLocked(trx, path)
    const request = { runId: before.run_id }
    const once = key === undefined ? undefined : { operation: 'retryRun' as const, key, request }
    if (once !== undefined && (await claimOnce(trx, { ...path, runId: before.run_id }, once)) !== undefined)
      return false
    if (ctx.engine === undefined) throw engineNotConfigured()
    if (before.status !== 'Failed') throw runNotFailed(path.runId, before.status)
    if (before.expired_at !== null) throw runExpired(path.runId)
    const attempt = before.attempt + 1
    const again = before.tasks
      .filter(({ status }) => status !== 'Succeeded')
      .map(({ name }) => ({
        name,
        status: 'Pending' as const,
        attempt,
        message: '',
        startedAt: null,
        completedAt: null,
      }))
    const kept = before.tasks.filter(({ status }) => status === 'Succeeded')
    const message = progressOf('Pending', [...kept, ...again])
    await change(trx, before, { status: 'Pending', attempt, message, completedAt: null, tasks: again })
    const after = { ...shownOf(before), status: 'Pending', attempt }
    await ctx.audit.record(trx, act, { ...entryOf(path), before: shownOf(before), after })
    return true
  })
  const row = await getRecorded(ctx, path)
  if (isRetried) ctx.keeper.resume(path.spaceId, path.runId)
  return row
}

/**
 * Deletes a run that ended, with its logs, metrics, artifacts and workspace.
 * @throws AppError 404, 409 when it has not ended, 412
 */
export async function deleteRun(
  ctx: Ctx,
  path: RunPath,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  await ctx.db.transaction().execute(async (trx) => {
    const before = await demandLocked(trx, path)
    if (versions !== undefined && !versions.includes(before.row_version)) throw preconditionFailed()
    if (!isEnded(before.status)) throw runNotEnded(path.runId, before.status)
    await deleteRunRow(trx, path.spaceId, path.runId)
    await ctx.audit.record(trx, act, { ...entryOf(path), before: shownOf(before) })
  })
  ctx.keeper.forget(path.spaceId, path.runId)
}
