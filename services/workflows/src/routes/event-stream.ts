import type { Readable } from 'node:stream'
import { streamBytes } from '@atrium/kernel/http'
import type { FastifyReply } from 'fastify'
import type { Follower } from '../domain/results/log-followers.ts'

/** What readers are told to wait before they come again. */
const RETRY_MS = 2000
/** Proxies end connections on which nothing is said. */
const ALIVE_MS = 15_000

export interface ServerSentEvent {
  readonly id?: number
  readonly event: string
  readonly data: unknown
}

const written = ({ id, event, data }: ServerSentEvent): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`

/** The same, with a comment whenever there was no event for a while. */
async function* withSigns(events: AsyncIterator<readonly ServerSentEvent[]>): AsyncGenerator<Buffer> {
  yield Buffer.from(`retry: ${RETRY_MS}\n\n`)
  for (;;) {
    const next = events.next()
    for (;;) {
      const found = await within(next, ALIVE_MS)
      if (found === undefined) {
        yield Buffer.from(':\n\n')
        continue
      }
      if (found.done === true) return
      if (found.value.length > 0) yield Buffer.from(found.value.map(written).join(''))
      break
    }
  }
}

async function within<T>(work: Promise<T>, milliseconds: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), milliseconds)
  })
  try {
    return await Promise.race([work, over])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Server-sent events, as slowly as the reader takes them. The follower ends with the connection.
 * @param events batches; they end when the follower is over
 */
export function sendEvents(
  reply: FastifyReply,
  follower: Follower,
  events: AsyncGenerator<readonly ServerSentEvent[]>,
): Readable {
  endWith(reply, follower)
  void reply.type('text/event-stream').headers({ 'cache-control': 'no-store', 'x-accel-buffering': 'no' })
  return streamBytes(withSigns(events))
}

/** A follower ends when its reader is gone, however the answer ends. */
export function endWith(reply: FastifyReply, follower: Follower): void {
  reply.raw.once('close', follower.end)
  if (reply.raw.destroyed) follower.end()
}
