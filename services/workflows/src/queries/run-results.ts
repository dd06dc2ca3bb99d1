import { sql } from '@atrium/kernel/db'
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

/** Runs that ended so long ago that their results go, the oldest first. */
export async function selectRunsToClear(
  db: WorkflowsDb,
  days: number,
  most: number,
): Promise<{ readonly space_id: string; readonly run_id: string }[]> {
  const { rows } = await sql<{ space_id: string; run_id: string }>`
    SELECT space_id, run_id FROM workflows.runs
     WHERE completed_at < now() - make_interval(days => ${days})
       AND (results_removed_at IS NULL OR results_removed_at < completed_at)
     ORDER BY completed_at LIMIT ${most}`.execute(db)
  return rows
}

const RESULTS = ['run_logs', 'run_events', 'run_metrics', 'run_artifacts'] as const
const ROWS_AT_A_TIME = 5000

/** Deletes what a run left, so many rows at a time that no statement takes long, and says so of the run. */
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
  await sql`UPDATE workflows.runs SET results_removed_at = now()
    WHERE space_id = ${spaceId} AND run_id = ${runId}`.execute(db)
}
