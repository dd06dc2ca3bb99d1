import { forgetBlobs, takeBlobsToRemove } from '../../queries/run-artifacts.ts'
import { deleteResults, selectRunsToClear } from '../../queries/run-results.ts'
import type { WorkflowsDb } from '../../queries/tables.ts'
import type { BlobStore } from './blob-store.ts'

export interface RetentionDeps {
  readonly db: WorkflowsDb
  readonly blobs: BlobStore
  readonly days: number
}

const RUNS_AT_A_TIME = 50
const FILES_AT_A_TIME = 50

/** Removes logs, events, metrics and artifacts of runs that ended so many days ago. The runs stay. */
export async function removeOldResults({ db, days }: RetentionDeps, signal: AbortSignal): Promise<void> {
  for (;;) {
    const runs = await selectRunsToClear(db, days, RUNS_AT_A_TIME)
    for (const { space_id, run_id } of runs) {
      if (signal.aborted) return
      await deleteResults(db, space_id, run_id)
    }
    if (runs.length < RUNS_AT_A_TIME) return
  }
}

/** Removes files whose artifacts are gone, and those that were never finished. May be repeated, and run twice at once. */
export async function removeFiles({ db, blobs }: RetentionDeps, signal: AbortSignal): Promise<void> {
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
