import type { Readable } from 'node:stream'
import { type Batches, type Pagination, streamArray, streamPage } from '@atrium/kernel/http'
import type { FastifyReply } from 'fastify'
import type { Static } from 'typebox'

/** ISO 8601 with milliseconds and the offset +00:00. */
export const timestamp = (date: Date): string => date.toISOString().replace('Z', '+00:00')

/** A JSON array of presented rows, written as the database delivers them. */
export function sendArray<Row>(
  reply: FastifyReply,
  batches: Batches<Row>,
  present: (row: Row) => unknown,
): Readable {
  void reply.type('application/json; charset=utf-8')
  return streamArray(batches, present)
}

/** The same inside of a page. */
export function sendPage<Row>(
  reply: FastifyReply,
  batches: Batches<Row>,
  present: (row: Row) => unknown,
  pagination: Static<typeof Pagination>,
): Readable {
  void reply.type('application/json; charset=utf-8')
  return streamPage(batches, present, () => pagination)
}
