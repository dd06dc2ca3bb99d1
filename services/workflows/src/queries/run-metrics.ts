import { sql } from '@atrium/kernel/db'
import type { WorkflowsDb } from './tables.ts'
import type { TaskKey } from './task-key.ts'

/** @param most points of one attempt @returns how many were added */
export async function insertMetrics(
  db: WorkflowsDb,
  { spaceId, runId, task, attempt }: TaskKey,
  points: readonly Pick<MetricRow, 'name' | 'step' | 'value'>[],
  most: number,
): Promise<number> {
  const { numAffectedRows } = await sql`
    INSERT INTO workflows.run_metrics (space_id, run_id, task, attempt, seq, name, step, value)
    SELECT ${spaceId}::uuid, ${runId}::uuid, ${task}, ${attempt}::int, known.seq + point.at, point.name, point.step,
           point.value
      FROM (SELECT coalesce(max(seq), 0) AS seq FROM workflows.run_metrics
             WHERE space_id = ${spaceId} AND run_id = ${runId} AND task = ${task} AND attempt = ${attempt}) AS known,
           unnest(${points.map(({ name }) => name)}::text[], ${points.map(({ step }) => step)}::bigint[],
                  ${points.map(({ value }) => value)}::float8[]) WITH ORDINALITY AS point(name, step, value, at)
     WHERE known.seq + point.at <= ${most}`.execute(db)
  return Number(numAffectedRows ?? 0)
}

export interface MetricRow {
  readonly task: string
  readonly seq: number
  readonly name: string
  readonly step: number | null
  readonly value: number
  readonly at: Date
}

export interface MetricSelection {
  readonly spaceId: string
  readonly runId: string
  readonly task?: string | undefined
  readonly name?: string | undefined
}

/** Points of the attempts that tasks were last started in, by task and in their order. */
export async function selectMetrics(
  db: WorkflowsDb,
  { spaceId, runId, task, name }: MetricSelection,
  after: { readonly task: string; readonly seq: number } | undefined,
  most: number,
): Promise<MetricRow[]> {
  const { rows } = await sql<MetricRow>`
    SELECT m.task, m.seq, m.name, m.step, m.value, m.at
      FROM workflows.run_metrics m
      JOIN workflows.run_tasks t
        ON t.space_id = m.space_id AND t.run_id = m.run_id AND t.name = m.task AND t.attempt = m.attempt
     WHERE m.space_id = ${spaceId} AND m.run_id = ${runId}
       AND ${task === undefined ? sql`true` : sql`m.task = ${task}`}
       AND ${name === undefined ? sql`true` : sql`m.name = ${name}`}
       AND ${after === undefined ? sql`true` : sql`(m.task, m.seq) > (${after.task}, ${after.seq}::int)`}
     ORDER BY m.task, m.seq LIMIT ${most}`.execute(db)
  return rows
}
