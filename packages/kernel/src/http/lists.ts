import Type, { type Static } from 'typebox'
import { named } from './contract.ts'

/**
 * Which part of a list is asked for: without `limit` all of it, and `page` counts only with it. The offset of the last
 * page that a number can name still fits into a bigint.
 */
export const PartQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  page: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
})

const SortOrder = named(
  'SortOrder',
  Type.Unsafe<'asc' | 'desc'>({ type: 'string', enum: ['asc', 'desc'], default: 'asc' }),
)

/** Lists read rows of about so many bytes at a time: what each list under way holds in memory. */
export const LIST_BATCH_BYTES = 128 * 1024

/** Query of a list that is searched, and sorted by one of these fields of its items. */
export const pageQuery = <const Fields extends readonly string[]>(...fields: Fields) =>
  Type.Object({
    ...PartQuery.properties,
    search: Type.Optional(Type.String({ maxLength: 200 })),
    sortOrder: Type.Optional(SortOrder),
    sortBy: Type.Optional(Type.Unsafe<Fields[number]>({ type: 'string', enum: fields })),
  })

export const Pagination = named(
  'Pagination',
  Type.Object({
    totalRecords: Type.Integer(),
    currentPage: Type.Integer(),
    totalPages: Type.Integer(),
    nextPage: Type.Union([Type.Integer(), Type.Null()]),
    prevPage: Type.Union([Type.Integer(), Type.Null()]),
  }),
)

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
