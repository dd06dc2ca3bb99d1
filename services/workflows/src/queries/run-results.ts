import { type RawBuilder, sql } from '@atrium/kernel/db'
import type { WorkflowsDb } from './tables.ts'

export interface RunAddress {
  readonly spaceId: string
  readonly workflowId: string
  readonly runId: string
}

export interface RunStanding {
  /** Nothing of it changes any more, unless it is retried. */
  readonly isEnded: boolean
  readonly status: string
  /** Of the task that was asked for; null when the run has no such task. */
  readonly taskStatus: string | null
}

/** @returns undefined when there is no such run */
export async function selectStanding(
  db: WorkflowsDb,
  { spaceId, workflowId, runId }: RunAddress,
  task: string | undefined,
): Promise<RunStanding | undefined> {
  const { rows } = await sql<RunStanding>`
    SELECT r.status, r.status IN ('Succeeded', 'Failed', 'Cancelled') AS "isEnded",
           (SELECT t.status FROM workflows.run_tasks t
             WHERE t.space_id = r.space_id AND t.run_id = r.run_id AND t.name = ${task ?? null}) AS "taskStatus"
      FROM workflows.runs r
     WHERE r.space_id = ${spaceId} AND r.run_id = ${runId} AND r.workflow_id = ${workflowId}`.execute(db)
  return rows[0]
}

export interface ExpiredRun {
  readonly space_id: string
  readonly run_id: string
  readonly engine: string
}

/**
 * Runs that ended so many days ago and still have results, the oldest first, but for those named. From now on nobody
 * retries them; one that is being retried at this moment is left out.
 */
export const expireRuns = (days: number, most: number, but: readonly string[]): RawBuilder<ExpiredRun> => sql`
  WITH old AS (
    SELECT space_id, run_id FROM workflows.runs
     WHERE completed_at < now() - make_interval(days => ${days}) AND results_removed_at IS NULL
       AND run_id <> ALL(${[...but]}::uuid[])
     ORDER BY completed_at LIMIT ${most} FOR UPDATE SKIP LOCKED)
  UPDATE workflows.runs r SET expired_at = coalesce(r.expired_at, now())
    FROM old WHERE r.space_id = old.space_id AND r.run_id = old.run_id
  RETURNING r.space_id, r.run_id, r.engine`

const RESULTS = ['run_logs', 'run_events', 'run_metrics', 'run_artifacts'] as const
const ROWS_AT_A_TIME = 5000

/** Deletes what a run left, so many rows at a time that no statement takes long. */
export async function deleteResults(db: WorkflowsDb, spaceId: string, runId: string): Promise<void> {
  for (const name of RESULTS) {
    const table = sql.table(`workflows.${name}`)
    let deleted: bigint | undefined
    do {
      const { numAffectedRows } = await sql`DELETE FROM ${table} WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM ${table} WHERE space_id = ${spaceId} AND run_id = ${runId} LIMIT ${ROWS_AT_A_TIME}))`.execute(
        db,
      )
      deleted = numAffectedRows
    } while (deleted === BigInt(ROWS_AT_A_TIME))
  }
}

/** Nothing of the run is left but its row. */
export async function markCleared(db: WorkflowsDb, spaceId: string, runId: string): Promise<void> {
  await sql`UPDATE workflows.runs SET results_removed_at = now()
    WHERE space_id = ${spaceId} AND run_id = ${runId}`.execute(db)
}
