import { sql } from '@atrium/kernel/db'
import type { WorkflowsDb } from './tables.ts'

/** Where the files of a space's runs are. */
export interface SpaceFolder {
  readonly spaceId: string
  /** Of the local engine. */
  readonly folder: string
}

/**
 * Gives up the folder of the oldest run of a space that failed and could be retried: it cannot be from now on, and the
 * engine forgets it. One that is being retried at this moment is left out.
 * @returns its id; undefined where there is none
 */
export async function giveUpOldestKept(
  db: WorkflowsDb,
  { spaceId, folder }: SpaceFolder,
): Promise<string | undefined> {
  const { rows } = await sql<{ runId: string }>`
    WITH oldest AS (
      SELECT kept.space_id, kept.run_id
        FROM workflows.local_runs AS kept JOIN workflows.runs AS run USING (space_id, run_id)
       WHERE kept.folder = ${folder} AND kept.space_id = ${spaceId} AND kept.state = 'Ended' AND NOT kept.is_good
         AND NOT kept.cancel_requested AND run.completed_at IS NOT NULL
       ORDER BY kept.run_id LIMIT 1 FOR UPDATE SKIP LOCKED
    ), expired AS (
      UPDATE workflows.runs AS run SET expired_at = coalesce(run.expired_at, now()) FROM oldest
       WHERE run.space_id = oldest.space_id AND run.run_id = oldest.run_id
      RETURNING run.space_id, run.run_id
    )
    DELETE FROM workflows.local_runs AS kept USING expired
     WHERE kept.space_id = expired.space_id AND kept.run_id = expired.run_id
    RETURNING kept.run_id AS "runId"`.execute(db)
  return rows[0]?.runId
}

/** Whether a task of the space runs, in this process or another. */
export async function runsAnything(db: WorkflowsDb, { spaceId, folder }: SpaceFolder): Promise<boolean> {
  const { rows } = await sql<{ runs: boolean }>`
    SELECT EXISTS (SELECT FROM workflows.local_runs AS run JOIN workflows.local_tasks AS task USING (space_id, run_id)
                    WHERE run.space_id = ${spaceId} AND run.state = 'Open' AND task.folder = ${folder}
                      AND task.status = 'Running') AS runs`.execute(db)
  return rows[0]?.runs === true
}
