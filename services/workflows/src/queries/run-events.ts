import { sql } from '@atrium/kernel/db'
import type { WorkflowsDb } from './tables.ts'

export interface RunEventRow {
  readonly seq: number
  readonly at: Date
  readonly event: { readonly type: 'run' | 'task' } & Readonly<Record<string, unknown>>
}

/** Events of a run after one that was seen, in their order. */
export async function selectRunEvents(
  db: WorkflowsDb,
  spaceId: string,
  runId: string,
  after: number,
  most: number,
): Promise<RunEventRow[]> {
  const { rows } = await sql<RunEventRow>`
    SELECT seq, at, event FROM workflows.run_events
     WHERE space_id = ${spaceId} AND run_id = ${runId} AND seq > ${after} ORDER BY seq LIMIT ${most}`.execute(
    db,
  )
  return rows
}
