import type { PlannedTask } from '../../ports.ts'
import { announceReady, openWaitingRuns } from '../../queries/local-runs.ts'
import {
  type Countdown,
  countEnded,
  endLastTask,
  endTask,
  releaseDependents,
  type StartedTask,
  skipDependents,
  startTasksOfRun,
} from '../../queries/local-tasks.ts'
import type { WorkflowsDb } from '../../queries/tables.ts'
import type { Outcome } from './execute.ts'

export interface Settled extends Countdown {
  /** Tasks that became ready, and that this worker has begun. */
  readonly next: readonly StartedTask<PlannedTask>[]
}

/**
 * Writes down how a task ended, and what follows from it: what depends on it is ready, or skipped.
 * @param most tasks that this worker goes on with by itself
 * @returns undefined when somebody else has the task: then nothing was written
 */
export async function settle(
  db: WorkflowsDb,
  worker: string,
  task: StartedTask,
  outcome: Extract<Outcome, { kind: 'ended' }>,
  most: number,
): Promise<Settled | undefined> {
  const end = { worker, status: outcome.status, message: outcome.message }
  if (task.dependents.length === 0) {
    const run = await endLastTask(db, task, end)
    return run === undefined ? undefined : { ...run, next: [] }
  }
  return db.transaction().execute(async (trx) => {
    if (!(await endTask(trx, task, end))) return undefined
    const isGood = outcome.status === 'Succeeded'
    const ready = isGood ? await releaseDependents(trx, task, task.dependents) : []
    const gone = isGood ? 0 : await skipDependents(trx, task, task.name)
    const run = await countEnded(trx, task, 1 + gone, isGood)
    if (run === undefined) return undefined
    const names = ready.slice(0, most)
    const next = names.length > 0 ? await startTasksOfRun<PlannedTask>(trx, task, names, worker) : []
    if (ready.length > next.length) await announceReady(trx)
    return { ...run, next }
  })
}

/** Lets runs begin that waited for others of their workflow. @returns how many */
export const admit = (db: WorkflowsDb, key: { spaceId: string; workflowId: string }): Promise<number> =>
  db.transaction().execute((trx) => openWaitingRuns(trx, key))
