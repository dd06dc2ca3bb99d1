import { type RawBuilder, sql } from '@atrium/kernel/db'
import { LIST_BATCH_BYTES, pageRequest } from '@atrium/kernel/lists'
import type { WorkflowsDb } from './tables.ts'

/** What a list reads, in the order of creation. */
export interface Listing {
  readonly table: RawBuilder<unknown>
  /** ANDed; at least one. */
  readonly where: readonly RawBuilder<unknown>[]
  /** Column of text that decides between rows of the same moment. */
  readonly id: RawBuilder<unknown>
  /** What a row weighs, in bytes. */
  readonly size: RawBuilder<unknown>
}

export interface Paging {
  readonly limit?: number | undefined
  readonly page?: number | undefined
}

/** Where a list goes on: after the row of this moment, in microseconds, and id. */
export interface Cursor {
  readonly createdAt: string
  readonly id: string
}

const BATCH_ROWS = 500

interface Read {
  readonly cursor_at: string
  readonly cursor_id: string
  /** Rows that the batch had before it was cut by their weight. */
  readonly fetched: number
}

const and = (conditions: readonly RawBuilder<unknown>[]) => sql.join([...conditions], sql` AND `)

/**
 * The rows of a list, or of a part of it, in batches. Each batch is a query of its own that begins after the last
 * row of the one before: a slow reader holds nothing, and memory stays flat whatever the number and size of rows.
 * The row type must be that of the listing's table.
 */
export async function* readInBatches<Row extends object>(
  db: WorkflowsDb,
  listing: Listing,
  { limit, page }: Paging,
): AsyncGenerator<Row[]> {
  const part = pageRequest({
    ...(limit === undefined ? {} : { limit }),
    ...(page === undefined ? {} : { page }),
  })
  yield* readAfter<Row>(db, listing, undefined, part.limit ?? Number.POSITIVE_INFINITY, part.offset)
}

/** The same from a row on. @param most rows at most */
export async function* readAfter<Row extends object>(
  db: WorkflowsDb,
  listing: Listing,
  after: Cursor | undefined,
  most: number,
  offset = 0,
): AsyncGenerator<Row[]> {
  let left = most
  let from = after
  let skip = offset
  while (left > 0) {
    const take = Math.min(BATCH_ROWS, left)
    const rows: (Row & Read)[] = await readBatch(db, listing, from, take, skip)
    yield rows
    const last = rows.at(-1)
    if (last === undefined || (last.fetched === rows.length && rows.length < take)) return
    from = { createdAt: last.cursor_at, id: last.cursor_id }
    skip = 0
    left -= rows.length
  }
}

async function readBatch<Row extends object>(
  db: WorkflowsDb,
  { table, where, id, size }: Listing,
  after: Cursor | undefined,
  take: number,
  offset: number,
): Promise<(Row & Read)[]> {
  const conditions =
    after === undefined
      ? where
      : [...where, sql`(created_at, ${id}) > (${after.createdAt}::timestamptz, ${after.id})`]
  const { rows } = await sql<Row & Read>`
    SELECT * FROM (
      SELECT found.*, count(*) OVER () AS fetched, sum(weight) OVER (ORDER BY cursor_place) AS total_weight FROM (
        SELECT *, created_at::text AS cursor_at, ${id} AS cursor_id, ${size} AS weight,
               row_number() OVER (ORDER BY created_at, ${id}) AS cursor_place
          FROM ${table} WHERE ${and(conditions)} ORDER BY created_at, ${id} LIMIT ${take} OFFSET ${offset}
      ) AS found
    ) AS weighed
     WHERE total_weight - weight < ${LIST_BATCH_BYTES} ORDER BY cursor_place`.execute(db)
  return rows
}
