import { deleteInParts, sql } from '@atrium/kernel/db'
import type { WorkflowsDb } from './tables.ts'

/** Spaces that this service keeps anything of. */
export async function selectSpacesWithData(db: WorkflowsDb): Promise<string[]> {
  const { rows } = await sql<{ space_id: string }>`
    SELECT space_id FROM workflows.workflows UNION SELECT space_id FROM workflows.secrets`.execute(db)
  return rows.map((row) => row.space_id)
}

/** Children first: deleting a workflow with all its runs would be one long statement. */
const REMOVED = [
  'run_logs',
  'run_metrics',
  'run_events',
  'run_artifacts',
  'local_tasks',
  'runs',
  'versions',
  'configurations',
  'workflows',
  'secrets',
  'artifact_use',
] as const
/** Deletes all rows of a space, so many at a time that no statement takes long. May be repeated. */
export async function deleteSpaceRows(db: WorkflowsDb, spaceId: string): Promise<void> {
  await db.deleteFrom('workflows.stage_assignments').where('space_id', '=', spaceId).execute()
  for (const name of REMOVED) await deleteInParts(db, `workflows.${name}`, sql`space_id = ${spaceId}`)
}
