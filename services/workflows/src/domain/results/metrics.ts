import { type MetricRow, selectMetrics } from '../../queries/run-metrics.ts'
import type { RunAddress } from '../../queries/run-results.ts'
import type { WorkflowsDb } from '../../queries/tables.ts'
import type { PageTokens } from '../page-tokens.ts'
import { demandRun } from './logs.ts'

export interface MetricRequest {
  readonly task?: string | undefined
  readonly name?: string | undefined
  readonly pageSize: number
  readonly pageToken?: string | undefined
}

/** @throws AppError 404 when there is no such run or task, 400 for a token of another list */
export async function listMetrics(
  { db, pageTokens }: { readonly db: WorkflowsDb; readonly pageTokens: PageTokens },
  run: RunAddress,
  { task, name, pageSize, pageToken }: MetricRequest,
): Promise<{ readonly rows: readonly MetricRow[]; readonly next: string }> {
  const list = ['metrics', run.spaceId, run.runId, task ?? '', name ?? '']
  const [afterTask, afterSeq] = pageTokens.read(list, pageToken) ?? []
  await demandRun(db, run, task)
  const after = afterTask === undefined ? undefined : { task: afterTask, seq: Number(afterSeq) }
  const found = await selectMetrics(db, { ...run, task, name }, after, pageSize + 1)
  const rows = found.slice(0, pageSize)
  const last = rows.at(-1)
  const isLast = found.length <= pageSize || last === undefined
  return { rows, next: isLast ? '' : pageTokens.issue(list, [last.task, String(last.seq)]) }
}
