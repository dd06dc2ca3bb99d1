import type { Readable } from 'node:stream'
import { type ServerSentEvent, streamEvents } from '@atrium/kernel/http'
import type { FastifyReply } from 'fastify'
import type { Follower } from '../domain/runs/followers.ts'

/** Of answers that grow while they are read: nobody on the way keeps or gathers them. */
export const UNBUFFERED = { 'cache-control': 'no-store', 'x-accel-buffering': 'no' } as const

/** Server-sent events, as slowly as the reader takes them. @param batches an empty one keeps the connection alive */
export function sendEvents(
  reply: FastifyReply,
  batches: AsyncIterable<readonly ServerSentEvent[]>,
): Readable {
  void reply.type('text/event-stream; charset=utf-8').headers(UNBUFFERED)
  return streamEvents(batches)
}

/** A follower ends when its reader is gone, however the answer ends. */
export const endWith =
  (reply: FastifyReply) =>
  (follower: Follower): void => {
    reply.raw.once('close', follower.end)
    if (reply.raw.destroyed) follower.end()
  }
