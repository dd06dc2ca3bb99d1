import { sql } from '@atrium/kernel/db'

import type { RunStatus, StoredPlannedTask, TaskStatus, WorkflowsDb } from './tables.ts'

/** Tells followers of a run that something of it has changed; the payload is `<spaceId>/<runId>`. */
export const RUN_CHANGED = 'workflows_run_changed'

interface ChangedTask {
  readonly name: string
  readonly status: TaskStatus
  readonly attempt: number
  readonly message: string
  readonly startedAt: string | null
  readonly completedAt: string | null
}

export interface RunUpdate {
  readonly spaceId: string
  readonly runId: string
  /** The run as it was seen; when it has changed since, nothing happens. */
  readonly rowVersion: number
  readonly attempt: number
  readonly status: RunStatus
  readonly message: string
  readonly startedAt: Date | null
  readonly completedAt: Date | null
  readonly tasks: readonly ChangedTask[]
}

const iso = (date: Date | null): string | null => date?.toISOString() ?? null

/** What followers are told: a line for each task that changed, then one for the run. */
function eventsOf({ attempt, status, message, startedAt, completedAt, tasks }: RunUpdate): object[] {
  const run = {
    type: 'run',
    status,
    attempt,
    message,
    startedAt: iso(startedAt),
    completedAt: iso(completedAt),
  }
  return [...tasks.map((task) => ({ type: 'task', ...task })), run]
}

/**
 * Writes a run's change down with its tasks' and their events, all or nothing, in one statement: runs of ten
 * milliseconds come by the hundred.
 * @returns false when the run is no longer as it was seen
 */
export async function updateRun(db: WorkflowsDb, update: RunUpdate): Promise<boolean> {
  const { spaceId, runId, tasks } = update
  const { rows } = await sql`
    WITH changed AS (
      UPDATE workflows.runs
         SET status = ${update.status}, message = ${update.message}, attempt = ${update.attempt},
             started_at = ${update.startedAt}, completed_at = ${update.completedAt},
             row_version = row_version + 1, updated_at = now()
       WHERE space_id = ${spaceId} AND run_id = ${runId} AND row_version = ${update.rowVersion}
      RETURNING space_id, run_id
    ), tasks AS (
      UPDATE workflows.run_tasks t
         SET status = task.status, attempt = task.attempt, message = task.message,
             started_at = task."startedAt", completed_at = task."completedAt"
        FROM changed, json_to_recordset(${JSON.stringify(tasks)}::json) AS task(
               name text, status text, attempt integer, message text, "startedAt" timestamptz, "completedAt" timestamptz)
       WHERE t.space_id = changed.space_id AND t.run_id = changed.run_id AND t.name = task.name
    ), events AS (
      INSERT INTO workflows.run_events (space_id, run_id, event)
      SELECT space_id, run_id, event.value
        FROM changed, json_array_elements(${JSON.stringify(eventsOf(update))}::json) WITH ORDINALITY AS event
       ORDER BY event.ordinality
    )
    SELECT pg_notify(${RUN_CHANGED}, space_id || '/' || run_id) FROM changed`.execute(db)
  return rows.length > 0
}

export interface Submission {
  readonly space_id: string
  readonly workflow_id: string
  readonly run_id: string
  readonly attempt: number
  readonly status: RunStatus
  readonly plan: readonly StoredPlannedTask[]
  /** Names of tasks that succeeded. */
  readonly finished: readonly string[]
}

const SUBMISSION = sql`SELECT r.space_id, r.workflow_id, r.run_id, r.attempt, r.status, r.plan,
    ARRAY(SELECT name FROM workflows.run_tasks t
           WHERE t.space_id = r.space_id AND t.run_id = r.run_id AND t.status = 'Succeeded') AS finished
  FROM workflows.runs r`

/** An attempt that the engine may not know yet. */
export async function selectSubmission(
  db: WorkflowsDb,
  spaceId: string,
  runId: string,
): Promise<Submission | undefined> {
  const { rows } = await sql<Submission>`${SUBMISSION}
    WHERE r.space_id = ${spaceId} AND r.run_id = ${runId} AND r.submitted_attempt < r.attempt
      AND r.status IN ('Pending', 'Running', 'Cancelling')`.execute(db)
  return rows[0]
}

/** @returns how the run stands; undefined when it is gone or in another attempt */
export async function markSubmitted(
  db: WorkflowsDb,
  { space_id, run_id, attempt }: Pick<Submission, 'space_id' | 'run_id' | 'attempt'>,
): Promise<RunStatus | undefined> {
  const row = await db
    .updateTable('workflows.runs')
    .set({ submitted_attempt: attempt })
    .where('space_id', '=', space_id)
    .where('run_id', '=', run_id)
    .where('attempt', '=', attempt)
    .returning('status')
    .executeTakeFirst()
  return row?.status
}

export interface RunKey {
  readonly space_id: string
  readonly run_id: string
}

/** Runs of an engine whose attempt it has not taken over although they were changed a while ago, the oldest first. */
export async function selectUnsubmitted(
  db: WorkflowsDb,
  engine: string,
  olderThanMs: number,
  most: number,
): Promise<RunKey[]> {
  const { rows } = await sql<RunKey>`
    SELECT space_id, run_id FROM workflows.runs
     WHERE submitted_attempt < attempt AND status IN ('Pending', 'Running', 'Cancelling') AND engine = ${engine}
       AND updated_at < now() - ${olderThanMs} * interval '1 millisecond'
     ORDER BY updated_at LIMIT ${most}`.execute(db)
  return rows
}

/** Runs of an engine that have not ended, in the order of their keys. @param after goes on behind this one */
export async function selectActive(
  db: WorkflowsDb,
  engine: string,
  after: RunKey | undefined,
  most: number,
): Promise<RunKey[]> {
  const { rows } = await sql<RunKey>`
    SELECT space_id, run_id FROM workflows.runs
     WHERE status IN ('Pending', 'Running', 'Cancelling') AND engine = ${engine}
       AND ${after === undefined ? sql`true` : sql`(space_id, run_id) > (${after.space_id}, ${after.run_id})`}
     ORDER BY space_id, run_id LIMIT ${most}`.execute(db)
  return rows
}
