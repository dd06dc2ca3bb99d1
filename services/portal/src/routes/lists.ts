import type { Readable } from 'node:stream'
import { type Batches, streamArray, streamPage } from '@atrium/kernel/http'
import type { FastifyReply } from 'fastify'
import type { Listed } from '../queries/listing.ts'

/** A list or a page of it, streamed, so that memory stays flat whatever its length. */
export function answerList<Row>(
  reply: FastifyReply,
  { batches, paginationOf }: Listed<Row>,
  present: (row: Row) => unknown,
): Readable {
  void reply.type('application/json; charset=utf-8')
  return streamPage(batches, present, paginationOf)
}

/** The same as a bare array. */
export function answerArray<Row>(
  reply: FastifyReply,
  batches: Batches<Row>,
  present: (row: Row) => unknown,
): Readable {
  void reply.type('application/json; charset=utf-8')
  return streamArray(batches, present)
}
