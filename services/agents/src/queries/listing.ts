import { type RawBuilder, sql } from '@atrium/kernel/db'
import { LIST_BATCH_BYTES, pageRequest } from '@atrium/kernel/lists'
import type { AgentsDb } from './tables.ts'

/** What a list reads, in which order. */
export interface Listing {
  /** With its alias. */
  readonly table: RawBuilder<unknown>
  /** ANDed; at least one. */
  readonly where: readonly RawBuilder<unknown>[]
  /** Never null. */
  readonly key: RawBuilder<unknown>
  /** Decides between equal keys. */
  readonly id: RawBuilder<unknown>
  readonly direction?: 'asc' | 'desc' | undefined
}

export interface Paging {
  readonly limit?: number | undefined
  readonly page?: number | undefined
}

const BATCH_ROWS = 500

interface Read {
  readonly cursor_key: string
  readonly cursor_id: string
  /** Rows that the batch had before it was cut by their weight. */
  readonly fetched: number
}

const and = (conditions: readonly RawBuilder<unknown>[]) => sql.join([...conditions], sql` AND `)

/**
 * The rows of a list, or of one page of it, in batches. Each batch is a query of its own that begins after the last
 * row of the one before: a slow reader holds nothing, and memory stays flat whatever the number and size of rows.
 * The row type must be that of the listing's table.
 */
export async function* readInBatches<Row extends object>(
  db: AgentsDb,
  listing: Listing,
  paging: Paging,
): AsyncGenerator<Row[]> {
  const { limit, offset } = pageRequest({
    ...(paging.limit === undefined ? {} : { limit: paging.limit }),
    ...(paging.page === undefined ? {} : { page: paging.page }),
  })
  let left = limit ?? Number.POSITIVE_INFINITY
  let last: Read | undefined
  while (left > 0) {
    const take = Math.min(BATCH_ROWS, left)
    const rows: (Row & Read)[] = await readBatch(db, listing, last, take, last === undefined ? offset : 0)
    yield rows
    last = rows.at(-1)
    if (last === undefined || (last.fetched === rows.length && rows.length < take)) return
    left -= rows.length
  }
}

async function readBatch<Row extends object>(
  db: AgentsDb,
  { table, where, key, id, direction }: Listing,
  after: Read | undefined,
  take: number,
  offset: number,
): Promise<(Row & Read)[]> {
  const [way, beyond] = direction === 'desc' ? [sql`DESC`, sql`<`] : [sql`ASC`, sql`>`]
  const conditions =
    after === undefined
      ? where
      : [...where, sql`(${key}, ${id}) ${beyond} (${after.cursor_key}, ${after.cursor_id})`]
  const order = sql`${key} ${way}, ${id} ${way}`
  const { rows } = await sql<Row & Read>`
    SELECT * FROM (
      SELECT found.*, count(*) OVER () AS fetched, sum(size) OVER (ORDER BY place) AS weight FROM (
        SELECT *, (${key})::text AS cursor_key, (${id})::text AS cursor_id, row_number() OVER (ORDER BY ${order}) AS place
          FROM ${table} WHERE ${and(conditions)} ORDER BY ${order} LIMIT ${take} OFFSET ${offset}
      ) AS found
    ) AS weighed
     WHERE weight - size < ${LIST_BATCH_BYTES} ORDER BY place`.execute(db)
  return rows
}

export async function countRows(db: AgentsDb, { table, where }: Listing): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    SELECT count(*) AS total FROM ${table} WHERE ${and(where)}`.execute(db)
  return rows[0]?.total ?? 0
}
