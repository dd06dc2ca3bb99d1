import { randomUUID } from 'node:crypto'
import type { TestPlatform } from '@atrium/testing'
import type { RunStatus, TaskStatus } from '../../src/queries/tables.ts'

export interface RecordedRun {
  readonly spaceId: string
  readonly workflowId: string
  readonly runId: string
  /** Below which the run's routes are. */
  readonly path: string
  setRun(status: RunStatus, attempt?: number): Promise<void>
  setTask(task: string, status: TaskStatus, attempt?: number): Promise<void>
}

/** A run as the service records it, with no engine behind it: a test is the engine. */
export async function recordRun(
  { pool }: Pick<TestPlatform, 'pool'>,
  spaceId: string,
  tasks: readonly string[],
): Promise<RecordedRun> {
  const runId = randomUUID()
  const workflowId = `w-${runId.slice(0, 8)}`
  await pool.query(`INSERT INTO workflows.workflows (space_id, workflow_id, name) VALUES ($1, $2, 'W')`, [
    spaceId,
    workflowId,
  ])
  await pool.query(
    `INSERT INTO workflows.runs (space_id, workflow_id, run_id, stage, version_id, resolved_configuration, plan, engine,
       status, created_by) VALUES ($1, $2, $3, 'test', 'v1', '{}', '[]', 'test', 'Running', 'somebody')`,
    [spaceId, workflowId, runId],
  )
  for (const [position, name] of tasks.entries()) {
    await pool.query(
      `INSERT INTO workflows.run_tasks (space_id, run_id, name, position, dependencies, status)
       VALUES ($1, $2, $3, $4, '{}', 'Running')`,
      [spaceId, runId, name, position],
    )
  }
  const tell = () => pool.query(`SELECT pg_notify('workflows_run_changed', $1)`, [`${spaceId}/${runId}`])
  return {
    spaceId,
    workflowId,
    runId,
    path: `/workflows/v1/spaces/${spaceId}/workflows/${workflowId}/runs/${runId}`,
    async setRun(status, attempt = 1) {
      const isEnded = ['Succeeded', 'Failed', 'Cancelled'].includes(status)
      await pool.query(
        `UPDATE workflows.runs SET status = $1, attempt = $2, completed_at = CASE WHEN $3 THEN now() END
          WHERE space_id = $4 AND run_id = $5`,
        [status, attempt, isEnded, spaceId, runId],
      )
      await tell()
    },
    async setTask(task, status, attempt = 1) {
      await pool.query(
        `UPDATE workflows.run_tasks SET status = $1, attempt = $2 WHERE space_id = $3 AND run_id = $4 AND name = $5`,
        [status, attempt, spaceId, runId, task],
      )
      await tell()
    },
  }
}
