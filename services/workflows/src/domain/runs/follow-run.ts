import { isUuid } from '@atrium/kernel/ids'
import type { WorkflowsContext } from '../../context.ts'
import { runNotFound } from '../../errors.ts'
import { type RunEventRow, selectRunEvents } from '../../queries/run-events.ts'
import { type RunPath, selectRunStatus } from '../../queries/runs.ts'
import { isEnded } from '../run-states.ts'

type Ctx = Pick<WorkflowsContext, 'db' | 'followers'>

const BATCH = 200
/** Proxies close connections on which nothing comes for a minute; and a change that was not announced is seen. */
const QUIET_MS = 10_000
/** Then the client comes again, and is asked again who it is. */
const LONGEST_MS = 10 * 60_000

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
 * @returns batches of events, an empty one where nothing happens for a while; undefined when the run has ended and
 *   nothing came after that event
 * @throws AppError 404, 429 when too many follow
 */
export async function followRun(
  ctx: Ctx,
  path: RunPath,
  after: number,
  signal: AbortSignal,
): Promise<AsyncGenerator<readonly RunEventRow[]> | undefined> {
  const status = isUuid(path.runId) ? await selectRunStatus(ctx.db, path) : undefined
  if (status === undefined) throw runNotFound(path.runId)
  const leave = ctx.followers.enter(path.spaceId)
  // Also when nobody ever begins to read.
  signal.addEventListener('abort', leave)
  try {
    const first = await look(ctx, path, after)
    if (first.isOver && first.events.length === 0) {
      leave()
      return undefined
    }
    return follow(ctx, path, first, after, AbortSignal.any([signal, ctx.followers.stopped]), leave)
  } catch (error) {
    leave()
    throw error
  }
}

async function* follow(
  ctx: Ctx,
  path: RunPath,
  first: Look,
  from: number,
  signal: AbortSignal,
  leave: () => void,
): AsyncGenerator<readonly RunEventRow[]> {
  const until = Date.now() + LONGEST_MS
  try {
    let after = from
    let seen = first
    while (!signal.aborted) {
      if (seen.events.length > 0) yield seen.events
      after = seen.events.at(-1)?.seq ?? after
      if (seen.isOver || Date.now() > until) return
      // Who waits is told of what changes while the next look is taken.
      const changed = ctx.followers.nextChange(path.spaceId, path.runId, QUIET_MS, signal)
      seen = await look(ctx, path, after)
      if (seen.events.length > 0 || seen.isOver) continue
      await changed
      seen = await look(ctx, path, after)
      if (seen.events.length === 0 && !seen.isOver) yield []
    }
  } finally {
    leave()
  }
}
