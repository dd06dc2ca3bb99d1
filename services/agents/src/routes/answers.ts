import { Readable } from 'node:stream'
import { type Pagination, streamArray } from '@atrium/kernel/http'
import type { FastifyReply } from 'fastify'
import type { Static } from 'typebox'

/** ISO 8601 with milliseconds and the offset +00:00. */
export const timestamp = (date: Date): string => date.toISOString().replace('Z', '+00:00')

type Batches<Row> = AsyncIterable<readonly Row[]>

async function* presented<Row>(
  batches: Batches<Row>,
  present: (row: Row) => unknown,
): AsyncGenerator<unknown[]> {
  for await (const batch of batches) yield batch.map(present)
}

/** A JSON array of presented rows, written as the database delivers them. */
export function sendArray<Row>(
  reply: FastifyReply,
  batches: Batches<Row>,
  present: (row: Row) => unknown,
): Readable {
  void reply.type('application/json; charset=utf-8')
  return streamArray(presented(batches, present))
}

async function* written(
  items: AsyncIterable<string | Buffer>,
  pagination: Static<typeof Pagination>,
): AsyncGenerator<string | Buffer> {
  let isFirst = true
  for await (const chunk of items) {
    // The beginning goes out with the first rows, so that a failure before them is answered as one.
    if (isFirst) yield '{"data":'
    isFirst = false
    yield chunk
  }
  yield `,"pagination":${JSON.stringify(pagination)}}`
}

/** The same inside of a page. */
export function sendPage<Row>(
  reply: FastifyReply,
  batches: Batches<Row>,
  present: (row: Row) => unknown,
  pagination: Static<typeof Pagination>,
): Readable {
  void reply.type('application/json; charset=utf-8')
  return Readable.from(written(streamArray(presented(batches, present)), pagination), { objectMode: false })
}
