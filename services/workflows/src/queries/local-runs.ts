import { type QueryExecutorProvider, sql } from '@atrium/kernel/db'
import { LEASE_SECONDS } from './local-tasks.ts'

/** The local engine's channel: `ready`, and `cancel <spaceId> <runId>`. */
export const LOCAL_ENGINE_CHANNEL = 'workflows_local_engine'

export interface LocalRunKey {
  readonly spaceId: string
  readonly runId: string
}

export interface NewLocalTask {
  readonly name: string
  readonly position: number
  /** Names of dependencies that have not succeeded in an earlier attempt. */
  readonly waiting: number
  readonly dependents: readonly string[]
  readonly spec: unknown
  readonly isFinished: boolean
  /** This worker begins it at once, if the run need not wait. */
  readonly worker: string | null
}

export interface NewLocalRun extends LocalRunKey {
  readonly workflowId: string
  readonly attempt: number
  readonly folder: string
  readonly tasks: readonly NewLocalTask[]
}

type State = 'Waiting' | 'Open' | 'Ended'

/** Tasks of a run that has just been made, and who begins them at once: nobody while the run waits. */
const taskRows = (run: NewLocalRun) => sql`
  jsonb_to_recordset(${JSON.stringify(run.tasks)}::jsonb) AS task
    (name text, position int, waiting int, dependents text[], spec jsonb, "isFinished" boolean, worker uuid),
  LATERAL (SELECT CASE WHEN run.state = 'Open' THEN task.worker END AS worker) AS begun`

/** A run that waits is one dependency more. */
const TASK_VALUES = sql`
  run.space_id, run.run_id, task.name, task.position, run.attempt, run.folder,
  task.waiting + CASE WHEN run.state = 'Waiting' THEN 1 ELSE 0 END, task.dependents, task.spec,
  CASE WHEN task."isFinished" THEN 'Succeeded' WHEN begun.worker IS NULL THEN 'Pending' ELSE 'Running' END,
  begun.worker, CASE WHEN begun.worker IS NULL THEN 0 ELSE 1 END,
  CASE WHEN begun.worker IS NOT NULL THEN clock_timestamp() END,
  CASE WHEN begun.worker IS NOT NULL THEN clock_timestamp() + make_interval(secs => ${LEASE_SECONDS}) END`

const TASK_COLUMNS = sql`
  (space_id, run_id, name, position, attempt, folder, waiting, dependents, spec, status, worker, starts, started_at,
   lease_until)`

const runValues = (run: NewLocalRun) => {
  const unfinished = run.tasks.filter(({ isFinished }) => !isFinished).length
  return sql`
    SELECT ${run.spaceId}::uuid, ${run.runId}::uuid, workflow_id, ${run.attempt}::int, ${run.folder}::uuid,
           CASE WHEN ${unfinished}::int = 0 THEN 'Ended' WHEN max_parallel_runs IS NULL THEN 'Open' ELSE 'Waiting' END,
           ${unfinished}::int
      FROM workflows.workflows WHERE space_id = ${run.spaceId} AND workflow_id = ${run.workflowId}`
}

const isLeft = (tasks: readonly NewLocalTask[]): boolean =>
  tasks.some(({ waiting, isFinished, worker }) => waiting === 0 && !isFinished && worker === null)

/**
 * Takes over a run's first attempt, unless the run is known, and tells every process of what is ready and left to them.
 * @returns the state that it begins in; undefined when nothing changed
 */
export async function insertLocalRun(
  db: QueryExecutorProvider,
  run: NewLocalRun,
): Promise<State | undefined> {
  const { rows } = await sql<{ state: State }>`
    WITH run AS (
      INSERT INTO workflows.local_runs (space_id, run_id, workflow_id, attempt, folder, state, unfinished)
      ${runValues(run)}
      ON CONFLICT (space_id, run_id) DO NOTHING
      RETURNING *
    ), tasks AS (
      INSERT INTO workflows.local_tasks ${TASK_COLUMNS} SELECT ${TASK_VALUES} FROM run, ${taskRows(run)}
    )
    SELECT state, CASE WHEN state = 'Open' AND ${isLeft(run.tasks)} THEN pg_notify(${LOCAL_ENGINE_CHANNEL}, 'ready') END FROM run`.execute(
    db,
  )
  return rows[0]?.state
}

/**
 * Takes over a later attempt of a run whose last one has ended, unless it, or a later one, is known.
 * @returns the state that it begins in; undefined when nothing changed
 */
export async function replaceLocalRun(
  trx: QueryExecutorProvider,
  run: NewLocalRun,
): Promise<State | undefined> {
  const { rows } = await sql<{ state: State }>`
    INSERT INTO workflows.local_runs AS known
      (space_id, run_id, workflow_id, attempt, folder, state, unfinished)
    ${runValues(run)}
    ON CONFLICT (space_id, run_id) DO UPDATE
      SET attempt = excluded.attempt, state = excluded.state, unfinished = excluded.unfinished,
          cancel_requested = false, is_good = true
      WHERE known.attempt < excluded.attempt AND known.state = 'Ended'
    RETURNING state`.execute(trx)
  const [row] = rows
  if (row === undefined) return undefined
  await sql`DELETE FROM workflows.local_tasks WHERE space_id = ${run.spaceId} AND run_id = ${run.runId}`.execute(
    trx,
  )
  await sql`
    INSERT INTO workflows.local_tasks ${TASK_COLUMNS}
    SELECT ${TASK_VALUES} FROM workflows.local_runs AS run, ${taskRows(run)}
     WHERE run.space_id = ${run.spaceId} AND run.run_id = ${run.runId}`.execute(trx)
  if (row.state === 'Open') await announceReady(trx)
  return row.state
}

/** Tells every process that tasks became ready. */
export async function announceReady(db: QueryExecutorProvider): Promise<void> {
  await sql`SELECT pg_notify(${LOCAL_ENGINE_CHANNEL}, 'ready')`.execute(db)
}

interface WorkflowKey {
  readonly spaceId: string
  readonly workflowId: string
}

/**
 * Opens as many waiting runs of a workflow, the oldest first, as it may have at once.
 * @returns how many
 */
export async function openWaitingRuns(trx: QueryExecutorProvider, key: WorkflowKey): Promise<number> {
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`workflows.runs ${key.spaceId} ${key.workflowId}`}, 0))`.execute(
    trx,
  )
  const { rows } = await sql<{ run_id: string }>`
    WITH room AS (
      SELECT coalesce(workflow.max_parallel_runs, 1000) - (
               SELECT count(*) FROM workflows.local_runs AS run
                WHERE run.space_id = ${key.spaceId} AND run.workflow_id = ${key.workflowId} AND run.state = 'Open'
             ) AS places
        FROM workflows.workflows AS workflow
       WHERE workflow.space_id = ${key.spaceId} AND workflow.workflow_id = ${key.workflowId}
    )
    UPDATE workflows.local_runs SET state = 'Open'
     WHERE space_id = ${key.spaceId} AND run_id IN (
       SELECT run_id FROM workflows.local_runs
        WHERE space_id = ${key.spaceId} AND workflow_id = ${key.workflowId} AND state = 'Waiting'
        ORDER BY run_id LIMIT (SELECT greatest(places, 0) FROM room))
    RETURNING run_id`.execute(trx)
  if (rows.length === 0) return 0
  await sql`
    UPDATE workflows.local_tasks SET waiting = waiting - 1
     WHERE space_id = ${key.spaceId} AND run_id = ANY (${rows.map(({ run_id }) => run_id)}::uuid[])
       AND status = 'Pending'`.execute(trx)
  await announceReady(trx)
  return rows.length
}

/** Workflows with runs that wait for others to end; of the given folder. */
export async function workflowsWithWaitingRuns(
  db: QueryExecutorProvider,
  folder: string,
  most: number,
): Promise<WorkflowKey[]> {
  const { rows } = await sql<WorkflowKey>`
    SELECT DISTINCT space_id AS "spaceId", workflow_id AS "workflowId" FROM workflows.local_runs
     WHERE state = 'Waiting' AND folder = ${folder} LIMIT ${most}`.execute(db)
  return rows
}

export interface LocalRunTaskRow {
  readonly attempt: number
  readonly isEnded: boolean
  readonly isCancelled: boolean
  readonly name: string
  readonly status: 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Skipped' | 'Cancelled'
  readonly message: string
  readonly startedAt: Date | null
  readonly completedAt: Date | null
}

/** A run as it is at one moment: a row for each of its tasks, in their order. */
export async function selectLocalRun(
  db: QueryExecutorProvider,
  { spaceId, runId }: LocalRunKey,
): Promise<LocalRunTaskRow[]> {
  const { rows } = await sql<LocalRunTaskRow>`
    SELECT run.attempt, run.state = 'Ended' AS "isEnded", run.cancel_requested AS "isCancelled", task.name, task.status,
           task.message, task.started_at AS "startedAt", task.completed_at AS "completedAt"
      FROM workflows.local_runs AS run JOIN workflows.local_tasks AS task USING (space_id, run_id)
     WHERE run.space_id = ${spaceId} AND run.run_id = ${runId} ORDER BY task.position`.execute(db)
  return rows
}

/**
 * Asks for the end of a run: nothing of it begins any more, and whoever runs its tasks is told. A task that its process
 * gave back may have left something elsewhere, so it is somebody's to end, as one that was lost.
 * @returns undefined when the attempt is not under way
 */
export async function cancelLocalRun(
  trx: QueryExecutorProvider,
  { spaceId, runId }: LocalRunKey,
  attempt: number,
): Promise<{ isEnded: boolean; workflowId: string } | undefined> {
  const { rows: found } = await sql`
    UPDATE workflows.local_runs SET cancel_requested = true
     WHERE space_id = ${spaceId} AND run_id = ${runId} AND attempt = ${attempt} AND state <> 'Ended'
    RETURNING 1`.execute(trx)
  if (found.length === 0) return undefined
  const { rows } = await sql<{ isEnded: boolean; workflowId: string }>`
    WITH ended AS (
      UPDATE workflows.local_tasks SET status = 'Cancelled', completed_at = now(), message = 'Cancelled before it began'
       WHERE space_id = ${spaceId} AND run_id = ${runId} AND status = 'Pending' AND starts = 0
      RETURNING 1
    ), lost AS (
      UPDATE workflows.local_tasks SET status = 'Running', lease_until = now()
       WHERE space_id = ${spaceId} AND run_id = ${runId} AND status = 'Pending' AND starts > 0
    ), told AS (SELECT pg_notify(${LOCAL_ENGINE_CHANNEL}, ${`cancel ${spaceId} ${runId}`}))
    UPDATE workflows.local_runs
       SET unfinished = unfinished - (SELECT count(*) FROM ended),
           state = CASE WHEN unfinished = (SELECT count(*) FROM ended) THEN 'Ended' ELSE state END
      FROM told
     WHERE space_id = ${spaceId} AND run_id = ${runId}
    RETURNING state = 'Ended' AS "isEnded", workflow_id AS "workflowId"`.execute(trx)
  return rows[0]
}

/** Those of the given runs that are to be cancelled or that are not there any more. */
export async function cancelledAmong(
  db: QueryExecutorProvider,
  keys: readonly LocalRunKey[],
): Promise<LocalRunKey[]> {
  const { rows } = await sql<LocalRunKey>`
    SELECT asked.space_id AS "spaceId", asked.run_id AS "runId"
      FROM unnest(${keys.map(({ spaceId }) => spaceId)}::uuid[], ${keys.map(({ runId }) => runId)}::uuid[])
             AS asked (space_id, run_id)
      LEFT JOIN workflows.local_runs AS run USING (space_id, run_id)
     WHERE run.cancel_requested IS DISTINCT FROM false`.execute(db)
  return rows
}

/** Those of the given runs that have not ended, or that can be retried: they need their workspace. */
export async function runsWithUse(
  db: QueryExecutorProvider,
  keys: readonly LocalRunKey[],
): Promise<LocalRunKey[]> {
  const { rows } = await sql<LocalRunKey>`
    SELECT run.space_id AS "spaceId", run.run_id AS "runId"
      FROM unnest(${keys.map(({ spaceId }) => spaceId)}::uuid[], ${keys.map(({ runId }) => runId)}::uuid[])
             AS asked (space_id, run_id)
      JOIN workflows.local_runs AS run USING (space_id, run_id)
     WHERE run.state <> 'Ended' OR NOT run.cancel_requested AND EXISTS (
             SELECT FROM workflows.local_tasks AS task
              WHERE task.space_id = run.space_id AND task.run_id = run.run_id AND task.status <> 'Succeeded')`.execute(
    db,
  )
  return rows
}

/** Forgets a run. @returns false while something of it runs */
export async function deleteLocalRun(
  db: QueryExecutorProvider,
  { spaceId, runId }: LocalRunKey,
): Promise<boolean> {
  const { rows } = await sql<{ isThere: boolean }>`
    WITH gone AS (
      DELETE FROM workflows.local_runs WHERE space_id = ${spaceId} AND run_id = ${runId} AND state = 'Ended'
      RETURNING 1
    )
    SELECT EXISTS (SELECT FROM workflows.local_runs WHERE space_id = ${spaceId} AND run_id = ${runId})
           AND NOT EXISTS (SELECT FROM gone) AS "isThere"`.execute(db)
  return rows[0]?.isThere !== true
}
