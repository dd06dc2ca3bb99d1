import type { WorkflowEngine } from '../../ports.ts'
import { forgetBlobs, takeBlobsToRemove } from '../../queries/run-artifacts.ts'
import { deleteResults, type ExpiredRun, expireRuns, markCleared } from '../../queries/run-results.ts'
import type { WorkflowsDb } from '../../queries/tables.ts'
import type { BlobStore } from './blob-store.ts'

export interface RetentionDeps {
  readonly db: WorkflowsDb
  readonly blobs: BlobStore
  /** Which keeps workspaces of its runs. */
  readonly engine: Pick<WorkflowEngine, 'name' | 'remove'> | undefined
  readonly days: number
}

const RUNS_AT_A_TIME = 50
const FILES_AT_A_TIME = 50

/** After so many runs that could not be cleared the rest waits for the next time. */
const MOST_FAILED = 50

/**
 * Removes logs, events, metrics, artifacts and workspaces of runs that ended so many days ago. The runs stay, and cannot
 * be retried any more. May be broken off and repeated.
 * @throws AggregateError at the end, for runs that could not be cleared
 */
export async function removeOldResults(deps: RetentionDeps, signal: AbortSignal): Promise<void> {
  const failed: string[] = []
  const errors: unknown[] = []
  let found: number
  do {
    const { rows } = await expireRuns(deps.days, RUNS_AT_A_TIME, failed).execute(deps.db)
    found = rows.length
    for (const run of rows) {
      if (signal.aborted) return
      await clear(deps, run).catch((error: unknown) => {
        failed.push(run.run_id)
        errors.push(error)
      })
    }
  } while (found === RUNS_AT_A_TIME && failed.length < MOST_FAILED)
  if (errors.length > 0) throw new AggregateError(errors, `${errors.length} old runs could not be cleared`)
}

async function clear(
  { db, engine }: RetentionDeps,
  { space_id: spaceId, run_id: runId, engine: name }: ExpiredRun,
): Promise<void> {
  await deleteResults(db, spaceId, runId)
  if (engine?.name === name) await engine.remove({ spaceId, runId })
  await markCleared(db, spaceId, runId)
}

/** Removes files whose artifacts are gone, and those that were never finished. May be repeated, and run twice at once. */
export async function removeFiles(
  { db, blobs }: Pick<RetentionDeps, 'db' | 'blobs'>,
  signal: AbortSignal,
): Promise<void> {
  let removed: number
  do {
    removed = await db.transaction().execute(async (trx) => {
      const found = await takeBlobsToRemove(trx, FILES_AT_A_TIME)
      await Promise.all(found.map(({ space_id, blob }) => blobs.remove({ spaceId: space_id, blob })))
      await forgetBlobs(
        trx,
        found.map(({ blob }) => blob),
      )
      return found.length
    })
  } while (removed === FILES_AT_A_TIME && !signal.aborted)
}
