import { Readable } from 'node:stream'
import Type, { type Static } from 'typebox'

/** Query of every paged list: without `limit` all rows come, and `page` counts only with it. */
export const PageQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000_000 })),
  search: Type.Optional(Type.String({ maxLength: 200 })),
  sortOrder: Type.Optional(Type.Union([Type.Literal('asc'), Type.Literal('desc')], { default: 'asc' })),
  sortBy: Type.Optional(Type.String({ maxLength: 64 })),
})

export const Pagination = Type.Object({
  totalRecords: Type.Integer(),
  currentPage: Type.Integer(),
  totalPages: Type.Integer(),
  nextPage: Type.Union([Type.Integer(), Type.Null()]),
  prevPage: Type.Union([Type.Integer(), Type.Null()]),
})

export interface PageRequest {
  readonly limit: number | undefined
  readonly offset: number
  readonly page: number
}

export function pageRequest(query: { limit?: number; page?: number }): PageRequest {
  const page = query.limit === undefined ? 1 : (query.page ?? 1)
  return { limit: query.limit, page, offset: query.limit === undefined ? 0 : (page - 1) * query.limit }
}

/** A page past the last one has no `nextPage`; its `prevPage` is the last that holds rows. */
export function paginationOf(totalRecords: number, { limit, page }: PageRequest): Static<typeof Pagination> {
  const totalPages = limit === undefined ? Math.min(1, totalRecords) : Math.ceil(totalRecords / limit)
  return {
    totalRecords,
    currentPage: page,
    totalPages,
    nextPage: page < totalPages ? page + 1 : null,
    prevPage: page > 1 ? Math.max(1, Math.min(page - 1, totalPages)) : null,
  }
}

async function* jsonArray(batches: AsyncIterable<readonly unknown[]>): AsyncGenerator<string> {
  let separator = '['
  for await (const batch of batches) {
    if (batch.length === 0) continue
    yield separator + batch.map((item) => JSON.stringify(item)).join(',')
    separator = ','
  }
  yield separator === '[' ? '[]' : ']'
}

/** A JSON array as a byte stream, batch by batch, so that memory stays flat whatever the list's length. */
export function streamArray(batches: AsyncIterable<readonly unknown[]>): Readable {
  return Readable.from(jsonArray(batches), { objectMode: false })
}
