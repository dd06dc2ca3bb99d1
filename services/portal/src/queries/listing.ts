import { type PageRequest, type Pagination, pageRequest, paginationOf } from '@atrium/kernel/http'
import { type RawBuilder, sql } from 'kysely'
import type { Static } from 'typebox'
import { unknownSortField } from '../errors.ts'
import type { PortalDb } from './tables.ts'

/** What a paged list reads, and what it can be searched and sorted by. */
export interface Listing {
  readonly select: RawBuilder<unknown>
  readonly from: RawBuilder<unknown>
  /** ANDed; at least one. */
  readonly where: readonly RawBuilder<unknown>[]
  readonly searched: readonly RawBuilder<unknown>[]
  /** By the item's field name. */
  readonly sortable: Readonly<Record<string, RawBuilder<unknown>>>
  /** Unique, in creation order: the order without `sortBy`, and among equals. */
  readonly tieBreak: RawBuilder<unknown>
}

export interface ListQuery {
  readonly limit?: number
  readonly page?: number
  readonly search?: string
  readonly sortBy?: string
  readonly sortOrder?: 'asc' | 'desc'
}

export interface ListPage<Row> {
  readonly rows: Row[]
  readonly pagination: Static<typeof Pagination>
}

/** Letters of either case sort as one. */
export const textOrder = (column: string): RawBuilder<unknown> => sql`lower(${sql.ref(column)})`
export const plainOrder = (column: string): RawBuilder<unknown> => sql`${sql.ref(column)}`

const contains = (column: RawBuilder<unknown>, term: string): RawBuilder<unknown> =>
  sql`position(lower(${term}) in lower(${column})) > 0`

function orderOf(listing: Listing, query: ListQuery): RawBuilder<unknown> {
  const direction = query.sortOrder === 'desc' ? sql`DESC` : sql`ASC`
  if (query.sortBy === undefined) return sql`${listing.tieBreak} ${direction}`
  if (!Object.hasOwn(listing.sortable, query.sortBy)) {
    throw unknownSortField(query.sortBy, Object.keys(listing.sortable))
  }
  return sql`${listing.sortable[query.sortBy] ?? listing.tieBreak} ${direction}, ${listing.tieBreak} ${direction}`
}

/** One page of a list and how many rows there are in all. @throws AppError 400 when `sortBy` names no field */
export async function listRows<Row>(
  db: PortalDb,
  listing: Listing,
  query: ListQuery,
): Promise<ListPage<Row>> {
  const order = orderOf(listing, query)
  const { search } = query
  const found =
    search === undefined || search === ''
      ? []
      : [
          sql`(${sql.join(
            listing.searched.map((column) => contains(column, search)),
            sql` OR `,
          )})`,
        ]
  const where = sql.join([...listing.where, ...found], sql` AND `)
  const page = pageRequest(query)
  const counted = sql<{ total: number }>`SELECT count(*) AS total FROM ${listing.from} WHERE ${where}`
  const rows = sql<Row>`SELECT ${listing.select} FROM ${listing.from} WHERE ${where} ORDER BY ${order} ${windowOf(page)}`
  const [counts, { rows: items }] = await Promise.all([counted.execute(db), rows.execute(db)])
  return { rows: items, pagination: paginationOf(counts.rows[0]?.total ?? 0, page) }
}

const windowOf = (page: PageRequest): RawBuilder<unknown> =>
  page.limit === undefined ? sql`` : sql`LIMIT ${page.limit} OFFSET ${page.offset}`

const BATCH = 500

/**
 * All rows, or one page of them, in batches that follow each other by the last id: memory stays flat.
 * @param read rows after `afterId` in the order of their ids
 */
export async function* inBatches<Row>(
  query: { limit?: number; page?: number },
  read: (batch: { afterId: string | undefined; limit: number; offset: number }) => Promise<Row[]>,
  idOf: (row: Row) => string,
): AsyncGenerator<Row[]> {
  const { limit, offset } = pageRequest(query)
  if (limit !== undefined) {
    yield await read({ afterId: undefined, limit, offset })
    return
  }
  let afterId: string | undefined
  for (;;) {
    const rows = await read({ afterId, limit: BATCH, offset: 0 })
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < BATCH) return
    afterId = idOf(last)
  }
}
