import { LIST_BATCH_BYTES, type Pagination, pageRequest, paginationOf } from '@atrium/kernel/lists'
import { type RawBuilder, sql } from 'kysely'
import type { Static } from 'typebox'
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

export interface ListQuery<Field extends string = string> {
  readonly limit?: number
  readonly page?: number
  readonly search?: string
  /** A field that the contract offers. */
  readonly sortBy?: Field
  readonly sortOrder?: 'asc' | 'desc'
}

/** A list or one page of it, batch by batch. */
export interface Listed<Row> {
  readonly batches: AsyncIterable<Row[]>
  /** @param count rows that were sent */
  paginationOf(count: number): Static<typeof Pagination>
}

/** In Unicode's order, whatever the database's own, with letters of either case as one. */
export const folded = (text: RawBuilder<unknown>): RawBuilder<unknown> =>
  sql`lower((${text}) COLLATE "und-x-icu")`
export const textOrder = (column: string): RawBuilder<unknown> => folded(sql.ref(column))
export const plainOrder = (column: string): RawBuilder<unknown> => sql`${sql.ref(column)}`

const contains = (column: RawBuilder<unknown>, term: string): RawBuilder<unknown> =>
  sql`position(${folded(sql`${term}::text`)} in ${folded(column)}) > 0`

/** How a list is ordered: the parts of its key, the last of them unique together, all in one direction. */
interface Order {
  readonly direction: 'asc' | 'desc'
  /** The field that was asked for, which may be null. */
  readonly sorted: RawBuilder<unknown> | undefined
  readonly tieBreak: readonly RawBuilder<unknown>[]
}

function orderOf(listing: Listing, query: ListQuery): Order {
  const direction = query.sortOrder === 'desc' ? 'desc' : 'asc'
  const { tieBreak } = listing
  const sorted = query.sortBy === undefined ? undefined : listing.sortable[query.sortBy]
  return { direction, sorted, tieBreak }
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

/** One page of a list and how many rows there are in all; without a limit all rows. */
export async function listRows<Row extends object>(
  db: PortalDb,
  listing: Listing,
  query: ListQuery,
): Promise<Listed<Row>> {
  const order = orderOf(listing, query)
  const where = conditionOf(listing, query)
  const page = pageRequest(query)
  const batches = readInBatches<Row>(db, { ...listing, where }, order, page)
  if (page.limit === undefined) return { batches, paginationOf: (count) => paginationOf(count, page) }
  const { rows } = await sql<{ total: number }>`
    SELECT count(*) AS total FROM ${listing.from} WHERE ${and(where)}`.execute(db)
  const pagination = paginationOf(rows[0]?.total ?? 0, page)
  return { batches, paginationOf: () => pagination }
}

/** All rows of a listing or one page of them, in creation order. */
export const readRows = <Row extends object>(
  db: PortalDb,
  listing: Pick<Listing, 'select' | 'from' | 'where' | 'tieBreak'>,
  query: { limit?: number; page?: number },
): AsyncGenerator<Row[]> => {
  const order: Order = { direction: 'asc', sorted: undefined, tieBreak: listing.tieBreak }
  return readInBatches<Row>(db, listing, order, pageRequest(query))
}

/** Rows that are looked at for a batch: few at first, for nobody knows yet how large they are. */
const ROWS = { first: 50, most: 1000 }

interface Weighed extends Position {
  /** Rows that the batch had before it was cut by their weight. */
  readonly fetched: number
}

/**
 * Each batch is a query of its own that begins after the last row of the one before: a slow reader holds nothing, and
 * memory stays flat whatever the number and size of rows.
 */
async function* readInBatches<Row extends object>(
  db: PortalDb,
  listing: Pick<Listing, 'select' | 'from' | 'where'>,
  order: Order,
  { limit = Number.POSITIVE_INFINITY, offset }: { limit: number | undefined; offset: number },
): AsyncGenerator<Row[]> {
  let left = limit
  let next = { after: undefined as Position | undefined, offset, take: Math.min(ROWS.first, left) }
  while (left > 0) {
    const rows: (Row & Weighed)[] = await readBatch(db, listing, order, next)
    yield rows
    const last = rows.at(-1)
    if (last === undefined || (last.fetched === rows.length && rows.length < next.take)) return
    left -= rows.length
    // What is cut off was read for nothing, so no more is asked for than will about fit.
    const fitting = last.fetched === rows.length ? 4 * rows.length : rows.length + 1
    next = { after: last, offset: 0, take: Math.min(fitting, ROWS.most, left) }
  }
}

/** At least one row, where there is one, and else no more than weigh `LIST_BATCH_BYTES` as text. */
async function readBatch<Row extends object>(
  db: PortalDb,
  { select, from, where }: Pick<Listing, 'select' | 'from' | 'where'>,
  order: Order,
  { after, offset, take }: { after: Position | undefined; offset: number; take: number },
): Promise<(Row & Weighed)[]> {
  const sortKey = order.sorted === undefined ? sql`NULL` : sql`(${order.sorted})::text`
  const tieKey = sql`ARRAY[${sql.join(order.tieBreak.map((part) => sql`(${part})::text`))}]`
  const conditions = after === undefined ? where : [...where, isAfter(order, after)]
  const inOrder = orderBy(order)
  const { rows } = await sql<Row & Weighed>`
    SELECT * FROM (
      SELECT listed.*, count(*) OVER () AS fetched,
             coalesce(sum(octet_length(listed::text)) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0)
               AS bytes_before
        FROM (
          SELECT ${select}, ${sortKey} AS sort_key, ${tieKey} AS tie_key, row_number() OVER (ORDER BY ${inOrder}) AS place
            FROM ${from} WHERE ${and(conditions)} ORDER BY ${inOrder} LIMIT ${take} OFFSET ${offset}
        ) AS listed
    ) AS weighed
     WHERE bytes_before < ${LIST_BATCH_BYTES} ORDER BY place`.execute(db)
  return rows
}
