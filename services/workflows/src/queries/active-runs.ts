import type { RunStatus, WorkflowsDb } from './tables.ts'

/** Runs that have not ended. */
export const ACTIVE_STATUSES = ['Pending', 'Running', 'Cancelling'] as const satisfies readonly RunStatus[]

/** Whether a workflow, or one version of it, has runs that have not ended. */
export async function hasActiveRuns(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  versionId?: string,
): Promise<boolean> {
  const row = await db
    .selectFrom('workflows.runs')
    .select('run_id')
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('status', 'in', ACTIVE_STATUSES)
    .$if(versionId !== undefined, (query) => query.where('version_id', '=', versionId ?? ''))
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
