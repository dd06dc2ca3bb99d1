import { type RawBuilder, sql } from '@atrium/kernel/db'

import {
  RUN_STATUSES,
  type RunStatus,
  STAGES,
  type Stage,
  type StoredPlannedTask,
  type TaskStatus,
  type WorkflowsDb,
} from './tables.ts'

/** A task of a run as the API shows it. */
export interface RunTask {
  readonly name: string
  readonly status: TaskStatus
  readonly attempt: number
  readonly startedAt: string | null
  readonly completedAt: string | null
  readonly message: string
  readonly dependencies: readonly string[]
}

export interface RunRow {
  readonly space_id: string
  readonly workflow_id: string
  readonly run_id: string
  readonly stage: Stage
  readonly version_id: string
  readonly configuration_id: string | null
  readonly trigger_id: string | null
  readonly engine: string
  readonly status: RunStatus
  readonly message: string
  readonly attempt: number
  readonly submitted_attempt: number
  readonly created_by: string
  readonly created_at: Date
  readonly started_at: Date | null
  readonly completed_at: Date | null
  /** Since when its results and workspace are being removed. */
  readonly expired_at: Date | null
  readonly row_version: number
  /** In the order of the version. */
  readonly tasks: readonly RunTask[]
}

export interface FullRunRow extends RunRow {
  readonly resolved_configuration: Readonly<Record<string, string>>
}

export interface RunPath {
  readonly spaceId: string
  readonly workflowId: string
  readonly runId: string
}

/** Without what may be megabytes: the plan and the configuration. */
const COLUMNS = sql`r.space_id, r.workflow_id, r.run_id, r.stage, r.version_id, r.configuration_id, r.trigger_id,
  r.engine, r.status, r.message, r.attempt, r.submitted_attempt, r.created_by, r.created_at, r.started_at,
  r.completed_at, r.expired_at, r.row_version`

/** ISO 8601, UTC, milliseconds. */
const isoOf = (column: RawBuilder<unknown>) =>
  sql`to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

const TASKS = sql`(
  SELECT coalesce(json_agg(json_build_object('name', t.name, 'status', t.status, 'attempt', t.attempt,
           'startedAt', ${isoOf(sql`t.started_at`)}, 'completedAt', ${isoOf(sql`t.completed_at`)},
           'message', t.message, 'dependencies', t.dependencies) ORDER BY t.position), '[]')
    FROM workflows.run_tasks t WHERE t.space_id = r.space_id AND t.run_id = r.run_id) AS tasks`

export interface NewRun extends RunPath {
  readonly stage: Stage
  readonly versionId: string
  readonly configurationId: string | null
  readonly resolvedConfiguration: Readonly<Record<string, string>>
  readonly plan: readonly StoredPlannedTask[]
  readonly triggerId: string | null
  readonly engine: string
  readonly message: string
  readonly createdBy: string
}

/** Makes a run and its tasks, all pending. The caller holds its workflow. */
export async function insertRun(trx: WorkflowsDb, run: NewRun): Promise<void> {
  const { spaceId, runId, plan } = run
  const event = JSON.stringify({ type: 'run', status: 'Pending', attempt: 1, message: run.message })
  await sql`
    WITH made AS (
      INSERT INTO workflows.runs (space_id, workflow_id, run_id, stage, version_id, configuration_id,
             resolved_configuration, plan, trigger_id, engine, status, message, created_by)
      VALUES (${spaceId}, ${run.workflowId}, ${runId}, ${run.stage}, ${run.versionId}, ${run.configurationId},
             ${JSON.stringify(run.resolvedConfiguration)}, ${JSON.stringify(plan)}, ${run.triggerId}, ${run.engine},
             'Pending', ${run.message}, ${run.createdBy})
    ), begun AS (
      INSERT INTO workflows.run_events (space_id, run_id, event) VALUES (${spaceId}, ${runId}, ${event})
    )
    INSERT INTO workflows.run_tasks (space_id, run_id, name, position, dependencies)
    SELECT ${spaceId}::uuid, ${runId}::uuid, task.value ->> 'name', task.ordinality,
           ARRAY(SELECT json_array_elements_text(task.value -> 'dependencies'))
      FROM json_array_elements(${JSON.stringify(plan.map(({ name, dependencies }) => ({ name, dependencies })))}::json)
           WITH ORDINALITY AS task`.execute(trx)
}

const at = ({ spaceId, workflowId, runId }: RunPath) =>
  sql`r.space_id = ${spaceId} AND r.run_id = ${runId} AND r.workflow_id = ${workflowId}`

export async function selectRun(db: WorkflowsDb, path: RunPath): Promise<FullRunRow | undefined> {
  const { rows } = await sql<FullRunRow>`
    SELECT ${COLUMNS}, r.resolved_configuration, ${TASKS} FROM workflows.runs r WHERE ${at(path)}`.execute(db)
  return rows[0]
}

export async function selectRunStatus(db: WorkflowsDb, path: RunPath): Promise<RunStatus | undefined> {
  const { rows } = await sql<{
    status: RunStatus
  }>`SELECT r.status FROM workflows.runs r WHERE ${at(path)}`.execute(db)
  return rows[0]?.status
}

/** The same without the configuration, of whatever workflow. */
export async function selectRunById(
  db: WorkflowsDb,
  spaceId: string,
  runId: string,
): Promise<RunRow | undefined> {
  const { rows } = await sql<RunRow>`
    SELECT ${COLUMNS}, ${TASKS} FROM workflows.runs r WHERE r.space_id = ${spaceId} AND r.run_id = ${runId}`.execute(
    db,
  )
  return rows[0]
}

/** A run whose row nobody else changes until the transaction ends. */
export async function lockRun(trx: WorkflowsDb, path: RunPath): Promise<RunRow | undefined> {
  await sql`SELECT FROM workflows.runs r WHERE ${at(path)} FOR UPDATE`.execute(trx)
  const { rows } =
    await sql<RunRow>`SELECT ${COLUMNS}, ${TASKS} FROM workflows.runs r WHERE ${at(path)}`.execute(trx)
  return rows[0]
}

export async function deleteRunRow(trx: WorkflowsDb, spaceId: string, runId: string): Promise<void> {
  await trx.deleteFrom('workflows.runs').where('space_id', '=', spaceId).where('run_id', '=', runId).execute()
}

export interface RunSelection {
  readonly status?: RunStatus | undefined
  readonly versionId?: string | undefined
  readonly stage?: Stage | undefined
}

const wanted = ({ status, versionId, stage }: RunSelection): RawBuilder<unknown> =>
  sql.join(
    [
      sql`true`,
      ...(status === undefined ? [] : [sql`status = ${status}`]),
      ...(versionId === undefined ? [] : [sql`version_id = ${versionId}`]),
      ...(stage === undefined ? [] : [sql`stage = ${stage}`]),
    ],
    sql` AND `,
  )

export interface RunIdsQuery {
  readonly spaceId: string
  readonly workflowId: string
  readonly selection: RunSelection
  /** Those made before this one alone. */
  readonly before: string | undefined
  readonly most: number
}

/**
 * Ids of a workflow's runs, the newest first. With filters it merges the newest of each stage and status that are
 * wanted, which an index gives in order: a filter that few runs fit reads no more than one that many fit.
 */
export function runIdsQuery({ spaceId, workflowId, selection, before, most }: RunIdsQuery) {
  const { status, versionId, stage } = selection
  const here = sql`space_id = ${spaceId} AND workflow_id = ${workflowId}
    AND ${before === undefined ? sql`true` : sql`run_id < ${before}`}`
  if (status === undefined && versionId === undefined && stage === undefined)
    return sql<{ run_id: string }>`
      SELECT run_id FROM workflows.runs WHERE ${here} ORDER BY run_id DESC LIMIT ${most}`
  return sql<{ run_id: string }>`
    SELECT newest.run_id
      FROM unnest(${stage === undefined ? [...STAGES] : [stage]}::text[]) AS wanted_stage,
           unnest(${status === undefined ? [...RUN_STATUSES] : [status]}::text[]) AS wanted_status,
           LATERAL (
             SELECT run_id FROM workflows.runs
              WHERE ${here} AND stage = wanted_stage AND status = wanted_status
                AND ${versionId === undefined ? sql`true` : sql`version_id = ${versionId}`}
              ORDER BY run_id DESC LIMIT ${most}
           ) AS newest
     ORDER BY newest.run_id DESC LIMIT ${most}`
}

export async function selectRunIds(db: WorkflowsDb, query: RunIdsQuery): Promise<string[]> {
  const { rows } = await runIdsQuery(query).execute(db)
  return rows.map(({ run_id }) => run_id)
}

/** Runs of these ids that are still there, the newest first. */
export async function selectRuns(
  db: WorkflowsDb,
  spaceId: string,
  runIds: readonly string[],
): Promise<RunRow[]> {
  const { rows } = await sql<RunRow>`
    SELECT ${COLUMNS}, ${TASKS} FROM workflows.runs r
     WHERE r.space_id = ${spaceId} AND r.run_id = ANY(${[...runIds]}::uuid[]) ORDER BY r.run_id DESC`.execute(
    db,
  )
  return rows
}

/** How many runs a list has: those that ended are counted as they end, the others are few. */
export async function countRuns(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  selection: RunSelection,
): Promise<number> {
  const here = sql`space_id = ${spaceId} AND workflow_id = ${workflowId} AND ${wanted(selection)}`
  const { rows } = await sql<{ total: number }>`
    SELECT (SELECT coalesce(sum(runs), 0) FROM workflows.run_counts WHERE ${here})::bigint
         + (SELECT count(*) FROM workflows.runs
             WHERE ${here} AND status IN ('Pending', 'Running', 'Cancelling')) AS total`.execute(db)
  return rows[0]?.total ?? 0
}
