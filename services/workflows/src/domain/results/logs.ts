import { isUuid } from '@atrium/kernel/ids'
import { runNotFound, taskNotFound } from '../../errors.ts'
import { type LogPiece, selectLog } from '../../queries/run-logs.ts'
import { type RunAddress, type RunStanding, selectStanding } from '../../queries/run-results.ts'
import type { WorkflowsDb } from '../../queries/tables.ts'
import type { Follower } from '../runs/followers.ts'

export interface LogRequest extends RunAddress {
  readonly task: string | undefined
  readonly attempt: number | undefined
  /** Number of the last piece that the reader has; 0 for none. */
  readonly after: number
}

/** @throws AppError 404 when there is no such run, or it has no such task */
export async function demandRun(
  db: WorkflowsDb,
  run: RunAddress,
  task: string | undefined,
): Promise<RunStanding> {
  const standing = isUuid(run.runId) ? await selectStanding(db, run, task) : undefined
  if (standing === undefined) throw runNotFound(run.runId)
  if (task !== undefined && standing.taskStatus === null) throw taskNotFound(task)
  return standing
}

/** What there is of a log, piece by piece: nothing is read before it is asked for. */
export async function* readLog(db: WorkflowsDb, request: LogRequest): AsyncGenerator<readonly LogPiece[]> {
  let { after } = request
  for (;;) {
    const pieces = await selectLog(db, request, after)
    const last = pieces.at(-1)
    if (last === undefined) return
    yield pieces
    after = last.seq
  }
}

const isOver = ({ isEnded, taskStatus }: RunStanding): boolean =>
  isEnded || !(taskStatus === null || taskStatus === 'Pending' || taskStatus === 'Running')

/**
 * A log as it grows, until what it is of has ended or the follower is to end. Between two reads nothing is held but the
 * follower's place. A batch is empty where nothing was said for a while.
 * @returns the status that it ended with; undefined when it may go on
 */
export async function* followLog(
  db: WorkflowsDb,
  request: LogRequest,
  follower: Follower,
): AsyncGenerator<readonly LogPiece[], string | undefined> {
  let { after } = request
  while (!follower.isOver) {
    await follower.news()
    // Before its log is read: what was said before the end is found by the read after it.
    const standing = await selectStanding(db, request, request.task)
    const before = after
    for await (const pieces of readLog(db, { ...request, after })) {
      yield pieces
      after = pieces.at(-1)?.seq ?? after
      if (follower.isOver) return undefined
    }
    if (standing === undefined) return 'Deleted'
    if (isOver(standing)) return standing.taskStatus ?? standing.status
    if (after === before) yield []
  }
  return undefined
}
