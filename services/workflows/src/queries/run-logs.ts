import { type RawBuilder, sql } from '@atrium/kernel/db'
import type { WorkflowsDb } from './tables.ts'
import type { TaskKey } from './task-key.ts'

/** Tells followers of a run that its log has grown; the payload is `<spaceId>/<runId>`. */
export const LOG_GREW = 'workflows_log_grew'

/** Held by whoever adds to a run's log until their transaction ends. */
const turnOf = (spaceId: string, runId: string): RawBuilder<unknown> =>
  sql`pg_advisory_xact_lock(hashtextextended(${`workflows.results/${spaceId}/${runId}`}, 0))`

/**
 * Adds to a task's log, unless it has its largest size already. The piece that reaches that ends with `cut`.
 * @param most bytes of one attempt's log
 */
export async function appendToLog(
  db: WorkflowsDb,
  { spaceId, runId, task, attempt }: TaskKey,
  text: string,
  { most, cut }: { readonly most: number; readonly cut: string },
): Promise<void> {
  await sql`
    WITH turn AS MATERIALIZED (SELECT ${turnOf(spaceId, runId)}),
    known AS (
      SELECT coalesce((
        SELECT start + octet_length(text) FROM workflows.run_logs
         WHERE space_id = ${spaceId} AND run_id = ${runId} AND task = ${task} AND attempt = ${attempt}
         ORDER BY seq DESC LIMIT 1), 0) AS size FROM turn
    ), added AS (
      INSERT INTO workflows.run_logs (space_id, run_id, task, attempt, start, text)
      SELECT ${spaceId}, ${runId}, ${task}, ${attempt}, size,
             ${text} || CASE WHEN size + octet_length(${text}) >= ${most}::bigint THEN ${cut} ELSE '' END
        FROM known WHERE size < ${most}::bigint
      RETURNING space_id, run_id
    )
    SELECT pg_notify(${LOG_GREW}, space_id || '/' || run_id) FROM added`.execute(db)
}

export interface LogPiece {
  readonly seq: number
  readonly task: string
  readonly attempt: number
  readonly at: Date
  readonly text: string
}

export interface LogSelection {
  readonly spaceId: string
  readonly runId: string
  /** Of one task alone. */
  readonly task?: string | undefined
  /** By default the one that each task was last started in. */
  readonly attempt?: number | undefined
}

const BATCH_ROWS = 256
const BATCH_BYTES = 256 * 1024

/** The next pieces of a log, in their order, of about 256 KiB together. */
export async function selectLog(
  db: WorkflowsDb,
  { spaceId, runId, task, attempt }: LogSelection,
  after: number,
): Promise<LogPiece[]> {
  const ofAttempt =
    attempt === undefined
      ? sql`attempt = (SELECT t.attempt FROM workflows.run_tasks t
              WHERE t.space_id = l.space_id AND t.run_id = l.run_id AND t.name = l.task)`
      : sql`attempt = ${attempt}`
  const { rows } = await sql<LogPiece>`
    SELECT seq, task, attempt, at, text FROM (
      SELECT *, sum(octet_length(text)) OVER (ORDER BY seq) - octet_length(text) AS before FROM (
        SELECT seq, task, attempt, at, text FROM workflows.run_logs l
         WHERE space_id = ${spaceId} AND run_id = ${runId} AND seq > ${after} AND ${ofAttempt}
           AND ${task === undefined ? sql`true` : sql`task = ${task}`}
         ORDER BY seq LIMIT ${BATCH_ROWS}
      ) AS found
    ) AS weighed WHERE before < ${BATCH_BYTES} ORDER BY seq`.execute(db)
  return rows
}
