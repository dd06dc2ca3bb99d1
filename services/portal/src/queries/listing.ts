import { type Pagination, pageRequest, paginationOf } from '@atrium/kernel/http'
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
  /** Not null, unique together, in creation order: the order without `sortBy`, and among equals. */
  readonly tieBreak: readonly RawBuilder<unknown>[]
}

export interface ListQuery {
  readonly limit?: number
  readonly page?: number
  readonly search?: string
  readonly sortBy?: string
  readonly sortOrder?: 'asc' | 'desc'
}

/** One page, where a limit was given; else everything, batch by batch. */
export type Listed<Row> =
  | { readonly rows: Row[]; readonly pagination: Static<typeof Pagination> }
  | { readonly batches: AsyncIterable<Row[]> }

/** Letters of either case sort as one. */
export const textOrder = (column: string): RawBuilder<unknown> => sql`lower(${sql.ref(column)})`
export const plainOrder = (column: string): RawBuilder<unknown> => sql`${sql.ref(column)}`

const contains = (column: RawBuilder<unknown>, term: string): RawBuilder<unknown> =>
  sql`position(lower(${term}) in lower(${column})) > 0`

/** How a list is ordered: the parts of its key, the last of them unique together, all in one direction. */
interface Order {
  readonly direction: 'asc' | 'desc'
  /** The field that was asked for, which may be null. */
  readonly sorted: RawBuilder<unknown> | undefined
  readonly tieBreak: readonly RawBuilder<unknown>[]
}

/** @throws AppError 400 when `sortBy` names no field */
function orderOf(listing: Listing, query: ListQuery): Order {
  const direction = query.sortOrder === 'desc' ? 'desc' : 'asc'
  const { tieBreak } = listing
  if (query.sortBy === undefined) return { direction, sorted: undefined, tieBreak }
  if (!Object.hasOwn(listing.sortable, query.sortBy)) {
    throw unknownSortField(query.sortBy, Object.keys(listing.sortable))
  }
  return { direction, sorted: listing.sortable[query.sortBy], tieBreak }
}

function orderBy({ direction, sorted, tieBreak }: Order): RawBuilder<unknown> {
  const way = direction === 'desc' ? sql`DESC` : sql`ASC`
  const parts = sorted === undefined ? tieBreak : [sorted, ...tieBreak]
  return sql.join(parts.map((part) => sql`${part} ${way}`))
}

/** Where a batch ended: the row's key as text, which PostgreSQL reads back exactly (a Date would lose microseconds). */
interface Position {
  readonly sort_key: string | null
  readonly tie_key: readonly string[]
}

/** Rows after a position, in the order of `orderBy`: PostgreSQL puts nulls last ascending, and first descending. */
function isAfter({ direction, sorted, tieBreak }: Order, last: Position): RawBuilder<unknown> {
  const beyond = direction === 'desc' ? sql`<` : sql`>`
  const ties = sql`(${sql.join([...tieBreak])}) ${beyond} (${sql.join(last.tie_key.map((key) => sql`${key}`))})`
  if (sorted === undefined) return ties
  if (last.sort_key === null) {
    const sameNull = sql`(${sorted} IS NULL AND ${ties})`
    return direction === 'asc' ? sameNull : sql`(${sameNull} OR ${sorted} IS NOT NULL)`
  }
  const further = sql`(${sorted} ${beyond} ${last.sort_key} OR (${sorted} = ${last.sort_key} AND ${ties}))`
  return direction === 'asc' ? sql`(${further} OR ${sorted} IS NULL)` : further
}

function conditionOf(listing: Listing, { search }: ListQuery): readonly RawBuilder<unknown>[] {
  if (search === undefined || search === '') return listing.where
  const found = sql.join(
    listing.searched.map((column) => contains(column, search)),
    sql` OR `,
  )
  return [...listing.where, sql`(${found})`]
}

const and = (conditions: readonly RawBuilder<unknown>[]) => sql.join([...conditions], sql` AND `)

/** One page of a list and how many rows there are in all; without a limit all rows, in batches. */
export async function listRows<Row extends object>(
  db: PortalDb,
  listing: Listing,
  query: ListQuery,
): Promise<Listed<Row>> {
  const order = orderOf(listing, query)
  const where = conditionOf(listing, query)
  const page = pageRequest(query)
  if (page.limit === undefined) return { batches: readAll<Row>(db, listing, order, where) }
  const counted = sql<{ total: number }>`SELECT count(*) AS total FROM ${listing.from} WHERE ${and(where)}`
  const rows = sql<Row>`SELECT ${listing.select} FROM ${listing.from} WHERE ${and(where)}
    ORDER BY ${orderBy(order)} LIMIT ${page.limit} OFFSET ${page.offset}`
  const [counts, { rows: items }] = await Promise.all([counted.execute(db), rows.execute(db)])
  return { rows: items, pagination: paginationOf(counts.rows[0]?.total ?? 0, page) }
}

const LIST_BATCH = 1000

/** Each batch is a query of its own that begins after the last row of the one before: a slow reader holds nothing. */
async function* readAll<Row extends object>(
  db: PortalDb,
  listing: Listing,
  order: Order,
  where: readonly RawBuilder<unknown>[],
): AsyncGenerator<Row[]> {
  const sortKey = order.sorted === undefined ? sql`NULL` : sql`(${order.sorted})::text`
  const tieKey = sql`ARRAY[${sql.join(order.tieBreak.map((part) => sql`(${part})::text`))}]`
  let last: Position | undefined
  for (;;) {
    const conditions = last === undefined ? where : [...where, isAfter(order, last)]
    const { rows } = await sql<Row & Position>`
      SELECT ${listing.select}, ${sortKey} AS sort_key, ${tieKey} AS tie_key FROM ${listing.from}
       WHERE ${and(conditions)} ORDER BY ${orderBy(order)} LIMIT ${LIST_BATCH}`.execute(db)
    yield rows
    last = rows.at(-1)
    if (rows.length < LIST_BATCH) return
  }
}

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
