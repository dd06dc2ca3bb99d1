import { setTimeout as delay } from 'node:timers/promises'
import { OperatorError } from '@atrium/kernel/errors'
import { type EventSourceMessage, EventSourceParserStream } from 'eventsource-parser/stream'
import type { RunRef } from './runs.ts'
import type { SpaceClient } from './space-client.ts'

const REST_MS = 500
/** Connections in a row that brought nothing and broke. */
const MOST_BREAKS = 20

export interface LogPiece {
  readonly task: string
  /** Whole lines, with their ends. */
  readonly text: string
}

/**
 * The log of a run, piece by piece, each once. Goes on behind the last piece when the connection breaks.
 * @param wanted.follow until the run has ended, else what there is now
 * @throws Refused, OperatorError when the platform stays away
 */
export async function* readLog(
  space: SpaceClient,
  { workflowId, runId }: RunRef,
  wanted: { task?: string | undefined; follow: boolean },
): AsyncGenerator<LogPiece> {
  const query = new URLSearchParams({
    follow: String(wanted.follow),
    ...(wanted.task === undefined ? {} : { task: wanted.task }),
  })
  const path = `${space.workflowPath(workflowId, 'runs', runId, 'logs')}?${query}`
  let last: string | undefined
  let breaks = 0
  for (;;) {
    const events = eventsOf(space, path, last)
    try {
      for (let next = await events.next(); next.done !== true; next = await events.next()) {
        const { id, event, data } = next.value
        if (event === 'end') return
        last = id ?? last
        breaks = 0
        if (event === 'log') yield JSON.parse(data) as LogPiece
      }
      if (!wanted.follow) return
    } catch (error) {
      if (error instanceof OperatorError) throw error
      breaks += 1
      if (breaks >= MOST_BREAKS)
        throw new OperatorError(`The log breaks off: ${String(error)}`, { cause: error })
    }
    await delay(REST_MS)
  }
}

async function* eventsOf(
  { platform }: SpaceClient,
  path: string,
  after: string | undefined,
): AsyncGenerator<EventSourceMessage> {
  const headers = { accept: 'text/event-stream', ...(after === undefined ? {} : { 'last-event-id': after }) }
  const body = await platform.retrying(() => platform.stream(path, headers))
  if (body === null) return
  yield* body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream())
}
