import { isUuid } from '@atrium/kernel/ids'
import type { WorkflowsContext } from '../../context.ts'
import { runNotFound } from '../../errors.ts'
import { type RunEventRow, selectRunEvents } from '../../queries/run-events.ts'
import { type RunPath, selectRunStatus } from '../../queries/runs.ts'
import { isEnded } from '../run-states.ts'
import type { Follower } from './followers.ts'

type Ctx = Pick<WorkflowsContext, 'db' | 'runFollowers'>

const BATCH = 200

/** Something to read now, and whether nothing will come after it. */
interface Look {
  readonly events: readonly RunEventRow[]
  readonly isOver: boolean
}

async function look({ db }: Ctx, { spaceId, workflowId, runId }: RunPath, after: number): Promise<Look> {
  // The status first: what is read after a run has ended is all there is.
  const status = await selectRunStatus(db, { spaceId, workflowId, runId })
  const events = status === undefined ? [] : await selectRunEvents(db, spaceId, runId, after, BATCH)
  return { events, isOver: (status === undefined || isEnded(status)) && events.length < BATCH }
}

/**
 * Follows the changes of a run and its tasks until it has ended, or for ten minutes.
 * @param after the last event that the caller has seen; 0 for none
 * @param endWithReader makes the follower end when its reader is gone, also when nobody ever begins to read
 * @returns batches of events, an empty one where nothing happens for a while; undefined when the run has ended and
 *   nothing came after that event
 * @throws AppError 404, 429 when too many follow
 */
export async function followRun(
  ctx: Ctx,
  path: RunPath,
  after: number,
  endWithReader: (follower: Follower) => void,
): Promise<AsyncGenerator<readonly RunEventRow[]> | undefined> {
  const status = isUuid(path.runId) ? await selectRunStatus(ctx.db, path) : undefined
  if (status === undefined) throw runNotFound(path.runId)
  const follower = ctx.runFollowers.follow(path.spaceId, path.runId)
  endWithReader(follower)
  try {
    // What changes from now on wakes the follower.
    await follower.news()
    const first = await look(ctx, path, after)
    if (!first.isOver || first.events.length > 0) return follow(ctx, path, first, after, follower)
    follower.end()
    return undefined
  } catch (error) {
    follower.end()
    throw error
  }
}

async function* follow(
  ctx: Ctx,
  path: RunPath,
  first: Look,
  from: number,
  follower: Follower,
): AsyncGenerator<readonly RunEventRow[]> {
  let after = from
  try {
    for (let seen = first; ; seen = await look(ctx, path, after)) {
      yield seen.events
      after = seen.events.at(-1)?.seq ?? after
      if (seen.events.length < BATCH && !seen.isOver) await follower.news()
      if (seen.isOver || follower.isOver) return
    }
  } finally {
    follower.end()
  }
}
