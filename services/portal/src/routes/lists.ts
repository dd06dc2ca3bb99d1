import { Readable } from 'node:stream'
import { paginationOf } from '@atrium/kernel/http'
import type { FastifyReply } from 'fastify'
import type { Page } from '../contract/common.ts'
import type { Listed } from '../queries/listing.ts'

async function* written<Row>(
  batches: AsyncIterable<readonly Row[]>,
  present: (row: Row) => unknown,
): AsyncGenerator<string> {
  let count = 0
  for await (const batch of batches) {
    // The beginning goes out with the first rows, so that a failure before them is answered as one.
    const items = batch.map((row) => JSON.stringify(present(row))).join(',')
    if (count === 0) yield `{"data":[${items}`
    else if (batch.length > 0) yield `,${items}`
    count += batch.length
  }
  const pagination = paginationOf(count, { limit: undefined, offset: 0, page: 1 })
  yield `],"pagination":${JSON.stringify(pagination)}}`
}

/** A page as an object; a whole list as a stream, so that memory stays flat whatever its length. */
export function answerList<Row, Item>(
  reply: FastifyReply,
  listed: Listed<Row>,
  present: (row: Row) => Item,
): Page<Item> | Readable {
  if ('rows' in listed) return { data: listed.rows.map(present), pagination: listed.pagination }
  void reply.type('application/json; charset=utf-8')
  return Readable.from(written(listed.batches, present), { objectMode: false })
}
