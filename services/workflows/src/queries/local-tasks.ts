import { type QueryExecutorProvider, sql } from '@atrium/kernel/db'
import type { LocalRunKey } from './local-runs.ts'

/** Others take a task for lost when whoever runs it has not been heard of for so long. */
export const LEASE_SECONDS = 18

/** A task that somebody has begun, and which time of beginning it is. */
export interface StartedTask<Spec = unknown> extends LocalRunKey {
  readonly name: string
  /** Its place among the run's tasks, from 0. */
  readonly position: number
  readonly attempt: number
  readonly spec: Spec
  /** Names of those that depend on it. */
  readonly dependents: readonly string[]
  /** 1 for the first time. What an earlier start reports is refused. */
  readonly starts: number
}

const STARTED = sql`
  task.space_id AS "spaceId", task.run_id AS "runId", task.name, task.position, task.attempt, task.spec, task.dependents, task.starts`

const begin = (worker: string) => sql`
  status = 'Running', worker = ${worker}::uuid, starts = starts + 1, started_at = clock_timestamp(),
  lease_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})`

/** Spaces that have tasks ready, by steps over the index: as quick with a million tasks of one space. */
export async function spacesWithReadyTasks(
  db: QueryExecutorProvider,
  folder: string,
  most: number,
): Promise<string[]> {
  const { rows } = await sql<{ space_id: string }>`
    WITH RECURSIVE ready AS (
      (SELECT space_id FROM workflows.local_tasks
        WHERE folder = ${folder} AND status = 'Pending' AND waiting = 0 ORDER BY space_id LIMIT 1)
      UNION ALL
      SELECT (SELECT task.space_id FROM workflows.local_tasks AS task
               WHERE task.folder = ${folder} AND task.status = 'Pending' AND task.waiting = 0
                 AND task.space_id > ready.space_id
               ORDER BY task.space_id LIMIT 1)
        FROM ready WHERE ready.space_id IS NOT NULL
    )
    SELECT space_id FROM ready WHERE space_id IS NOT NULL LIMIT ${most}`.execute(db)
  return rows.map(({ space_id }) => space_id)
}

/** Begins ready tasks of a space, those of the oldest runs first. */
export async function startReadyTasks<Spec>(
  db: QueryExecutorProvider,
  options: { folder: string; spaceId: string; worker: string; most: number },
): Promise<StartedTask<Spec>[]> {
  const { rows } = await sql<StartedTask<Spec>>`
    WITH picked AS (
      SELECT space_id, run_id, name FROM workflows.local_tasks
       WHERE folder = ${options.folder} AND space_id = ${options.spaceId} AND status = 'Pending' AND waiting = 0
       ORDER BY run_id, position LIMIT ${options.most} FOR UPDATE SKIP LOCKED
    )
    UPDATE workflows.local_tasks AS task SET ${begin(options.worker)}
      FROM picked WHERE task.space_id = picked.space_id AND task.run_id = picked.run_id AND task.name = picked.name
    RETURNING ${STARTED}`.execute(db)
  return rows
}

/** Begins some tasks of a run that became ready through one that this worker has just ended. */
export async function startTasksOfRun<Spec>(
  trx: QueryExecutorProvider,
  key: LocalRunKey,
  names: readonly string[],
  worker: string,
): Promise<StartedTask<Spec>[]> {
  const { rows } = await sql<StartedTask<Spec>>`
    UPDATE workflows.local_tasks AS task SET ${begin(worker)}
     WHERE space_id = ${key.spaceId} AND run_id = ${key.runId} AND name = ANY (${names}::text[])
       AND status = 'Pending' AND waiting = 0
    RETURNING ${STARTED}`.execute(trx)
  return rows
}

export type EndStatus = 'Succeeded' | 'Failed' | 'Cancelled'

const writeEnd = (task: StartedTask, end: { worker: string; status: EndStatus; message: string }) => sql`
  WITH run AS (
    SELECT space_id, run_id FROM workflows.local_runs
     WHERE space_id = ${task.spaceId} AND run_id = ${task.runId} AND attempt = ${task.attempt} FOR UPDATE
  ), ended AS (
    UPDATE workflows.local_tasks AS task
       SET status = ${end.status}, message = ${end.message}, completed_at = clock_timestamp(), worker = NULL,
           lease_until = NULL
      FROM run
     WHERE task.space_id = run.space_id AND task.run_id = run.run_id AND task.name = ${task.name}
       AND task.attempt = ${task.attempt} AND task.worker = ${end.worker}::uuid AND task.starts = ${task.starts}
       AND task.status = 'Running'
    RETURNING 1
  )`

/**
 * Ends a task, if it still is the start that this worker began. Locks the run first, so that two that end at once
 * cannot lock each other out.
 * @returns false when somebody else has the task
 */
export async function endTask(
  trx: QueryExecutorProvider,
  task: StartedTask,
  end: { worker: string; status: EndStatus; message: string },
): Promise<boolean> {
  const { rows } = await sql`${writeEnd(task, end)} SELECT FROM ended`.execute(trx)
  return rows.length > 0
}

export interface Countdown {
  readonly isEnded: boolean
  readonly workflowId: string
  /** Once it has ended: it cannot be retried, for every task succeeded, or it was cancelled. */
  readonly isDone: boolean
  /** Runs of its workflow may wait for the end of others. */
  readonly isLimited: boolean
}

/** All that is asked of the run's row stands in it, and not in other rows, of which a statement sees an older state. */
const countdown = (ended: number, isGood: boolean) => sql`
  UPDATE workflows.local_runs AS run
     SET unfinished = unfinished - ${ended}::int, is_good = is_good AND ${isGood},
         state = CASE WHEN unfinished = ${ended}::int THEN 'Ended' ELSE state END`

const COUNTED = sql`
  RETURNING state = 'Ended' AS "isEnded", workflow_id AS "workflowId", is_good OR cancel_requested AS "isDone",
    EXISTS (
      SELECT FROM workflows.workflows AS workflow
       WHERE workflow.space_id = run.space_id AND workflow.workflow_id = run.workflow_id
         AND workflow.max_parallel_runs IS NOT NULL
    ) AS "isLimited"`

/** Ends a task that nothing depends on, in one statement. @returns undefined when somebody else has the task */
export async function endLastTask(
  db: QueryExecutorProvider,
  task: StartedTask,
  end: { worker: string; status: EndStatus; message: string },
): Promise<Countdown | undefined> {
  const { rows } = await sql<Countdown>`
    ${writeEnd(task, end)}
    ${countdown(1, end.status === 'Succeeded')}
     WHERE space_id = ${task.spaceId} AND run_id = ${task.runId} AND EXISTS (SELECT FROM ended)
    ${COUNTED}`.execute(db)
  return rows[0]
}

/** Notes for each of these tasks that one of its dependencies ended well. @returns names of those that are ready */
export async function releaseDependents(
  trx: QueryExecutorProvider,
  key: LocalRunKey,
  names: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<{ name: string; isReady: boolean }>`
    UPDATE workflows.local_tasks SET waiting = waiting - 1
     WHERE space_id = ${key.spaceId} AND run_id = ${key.runId} AND name = ANY (${names}::text[])
    RETURNING name, status = 'Pending' AND waiting = 0 AS "isReady"`.execute(trx)
  return rows.flatMap(({ name, isReady }) => (isReady ? [name] : []))
}

/** Everything that depends on a task that ended badly is skipped. @returns how many */
export async function skipDependents(
  trx: QueryExecutorProvider,
  key: LocalRunKey,
  failed: string,
): Promise<number> {
  const { rows } = await sql`
    WITH RECURSIVE behind AS (
      SELECT unnest(dependents) AS name FROM workflows.local_tasks
       WHERE space_id = ${key.spaceId} AND run_id = ${key.runId} AND name = ${failed}
      UNION
      SELECT unnest(task.dependents) FROM behind JOIN workflows.local_tasks AS task
          ON task.space_id = ${key.spaceId} AND task.run_id = ${key.runId} AND task.name = behind.name
    )
    UPDATE workflows.local_tasks AS task
       SET status = 'Skipped', completed_at = clock_timestamp(), message = ${`Task ${failed} did not succeed`}
      FROM behind
     WHERE task.space_id = ${key.spaceId} AND task.run_id = ${key.runId} AND task.name = behind.name
       AND task.status = 'Pending'
    RETURNING 1`.execute(trx)
  return rows.length
}

/** Notes that so many tasks of a run have ended. @param isGood all of them ended well */
export async function countEnded(
  trx: QueryExecutorProvider,
  key: LocalRunKey,
  ended: number,
  isGood: boolean,
): Promise<Countdown | undefined> {
  const { rows } = await sql<Countdown>`
    ${countdown(ended, isGood)}
     WHERE space_id = ${key.spaceId} AND run_id = ${key.runId}
    ${COUNTED}`.execute(trx)
  return rows[0]
}

/**
 * Says that this worker runs these tasks. What it was given without ever hearing of it, for the answer was lost, is
 * left to run out.
 * @returns what it still has; a task that is missing was given to another
 */
export async function renewLeases(
  db: QueryExecutorProvider,
  worker: string,
  running: readonly Pick<StartedTask, 'runId' | 'name'>[],
): Promise<(LocalRunKey & { name: string; starts: number })[]> {
  const { rows } = await sql<LocalRunKey & { name: string; starts: number }>`
    UPDATE workflows.local_tasks AS task
       SET lease_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
      FROM unnest(${running.map(({ runId }) => runId)}::uuid[], ${running.map(({ name }) => name)}::text[])
             AS known (run_id, name)
     WHERE worker = ${worker}::uuid AND status = 'Running' AND task.run_id = known.run_id AND task.name = known.name
    RETURNING task.space_id AS "spaceId", task.run_id AS "runId", task.name, task.starts`.execute(db)
  return rows
}

/** Gives a task back that this worker cannot end: another begins it anew. */
export async function giveBackTask(
  db: QueryExecutorProvider,
  task: StartedTask,
  worker: string,
): Promise<void> {
  await sql`
    UPDATE workflows.local_tasks SET status = 'Pending', worker = NULL, lease_until = NULL
     WHERE space_id = ${task.spaceId} AND run_id = ${task.runId} AND name = ${task.name}
       AND worker = ${worker}::uuid AND starts = ${task.starts} AND status = 'Running'`.execute(db)
}

/**
 * Takes for itself tasks whose worker has not been heard of for too long.
 * @param worker gets them, and sees to it that they begin anew or end
 */
export async function takeLostTasks<Spec>(
  db: QueryExecutorProvider,
  options: { folder: string; worker: string; most: number },
): Promise<(StartedTask<Spec> & { isCancelled: boolean })[]> {
  const { rows } = await sql<StartedTask<Spec> & { isCancelled: boolean }>`
    WITH lost AS (
      SELECT task.space_id, task.run_id, task.name, run.cancel_requested
        FROM workflows.local_tasks AS task JOIN workflows.local_runs AS run USING (space_id, run_id)
       WHERE task.status = 'Running' AND task.lease_until < clock_timestamp() AND task.folder = ${options.folder}
       LIMIT ${options.most} FOR UPDATE OF task SKIP LOCKED
    )
    UPDATE workflows.local_tasks AS task
       SET worker = ${options.worker}::uuid,
           lease_until = clock_timestamp() + make_interval(secs => ${LEASE_SECONDS})
      FROM lost
     WHERE task.space_id = lost.space_id AND task.run_id = lost.run_id AND task.name = lost.name
    RETURNING ${STARTED}, lost.cancel_requested AS "isCancelled"`.execute(db)
  return rows
}
