import type { Readable } from 'node:stream'
import { pageRequest, streamObject } from '@atrium/kernel/http'
import type { FastifyReply } from 'fastify'
import type { ListQuery } from '../contract/common.ts'
import type { Found } from '../domain/begun.ts'

/** ISO 8601, UTC, milliseconds, `Z`. */
export const timestamp = (date: Date): string => date.toISOString()

/** `{items, totalCount}`, written as the database delivers the rows. */
export function sendList<Row>(
  reply: FastifyReply,
  { rows, total }: Found<Row>,
  present: (row: Row) => unknown,
): Readable {
  void reply.type('application/json; charset=utf-8')
  return streamObject('items', rows, present, { totalCount: total })
}

/** A page of a list, the same way. @param page fields beside the list, like `nextPageToken` */
export function sendPage<Row>(
  reply: FastifyReply,
  name: string,
  rows: AsyncIterable<readonly Row[]>,
  present: (row: Row) => unknown,
  page: object,
): Readable {
  void reply.type('application/json; charset=utf-8')
  return streamObject(name, rows, present, page)
}

/** The part of a short list that is asked for. */
export function partOf<Row>(rows: readonly Row[], query: ListQuery): readonly Row[] {
  const { limit, offset } = pageRequest(query)
  return rows.slice(offset, limit === undefined ? undefined : offset + limit)
}
