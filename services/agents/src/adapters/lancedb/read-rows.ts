import type { Table } from '@lancedb/lancedb'
import { type EmbeddingRow, rowsOf } from './embedding-table.ts'
import { SHOWN_COLUMNS } from './table-fields.ts'

export interface RowSelection {
  readonly where?: string | undefined
  readonly limit?: number | undefined
  readonly offset?: number | undefined
}

/** Rows that are sorted at a time. */
const WINDOW = 500
/** The engine hands over thousands of rows at a time, as columns: so many of them become objects at once. */
const BATCH_ROWS = 200

/**
 * Rows in the order of their creation, in batches.
 *
 * The table has them in about that order: writers that began at the same time end as they may, and a compaction puts
 * what it rewrote behind what was written meanwhile. Where that has happened rows are read by spans of time, found
 * from the times of all, which take 8 bytes a row.
 */
export async function* readRows(table: Table, selection: RowSelection): AsyncGenerator<EmbeddingRow[]> {
  const { where, limit, offset = 0 } = selection
  const times = await creationTimes(table, where)
  // An offset beyond the end may be larger than the engine's numbers.
  if (offset >= times.length) return
  if (times.every((time, index) => index === 0 || time >= (times[index - 1] ?? 0))) {
    yield* readInPlace(table, selection)
    return
  }
  times.sort()
  const end = limit === undefined ? times.length : Math.min(times.length, offset + limit)
  let next = offset
  while (next < end) {
    const { start, stop } = windowAt(times, next)
    const rows = await readSpan(table, where, times[start] ?? 0, times[stop - 1] ?? 0)
    yield rows.slice(next - start, end - start)
    next = stop
  }
}

async function creationTimes(table: Table, where: string | undefined): Promise<Float64Array> {
  let query = table.query().select(['created_at'])
  if (where !== undefined) query = query.where(where)
  const parts: Float64Array[] = []
  for await (const batch of query) parts.push(batch.getChild('created_at')?.toArray() ?? new Float64Array())
  const times = new Float64Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    times.set(part, at)
    at += part.length
  }
  return times
}

async function* readInPlace(
  table: Table,
  { where, limit, offset }: RowSelection,
): AsyncGenerator<EmbeddingRow[]> {
  let query = table.query().select(SHOWN_COLUMNS)
  if (where !== undefined) query = query.where(where)
  if (limit !== undefined) query = query.limit(limit)
  if (offset !== undefined && offset > 0) query = query.offset(offset)
  for await (const batch of query) {
    for (let start = 0; start < batch.numRows; start += BATCH_ROWS) {
      yield rowsOf<EmbeddingRow>(batch.slice(start, start + BATCH_ROWS), SHOWN_COLUMNS)
    }
  }
}

/** Rows of whole milliseconds about a position: those of one are read together. */
function windowAt(times: Float64Array, position: number): { start: number; stop: number } {
  let start = position
  while (start > 0 && times[start - 1] === times[position]) start--
  let stop = Math.min(times.length, Math.max(start + WINDOW, position + 1))
  while (stop < times.length && times[stop] === times[stop - 1]) stop++
  return { start, stop }
}

async function readSpan(
  table: Table,
  where: string | undefined,
  from: number,
  to: number,
): Promise<EmbeddingRow[]> {
  const span = `created_at >= ${from} AND created_at <= ${to}`
  const query = table
    .query()
    .select(SHOWN_COLUMNS)
    .where(where === undefined ? span : `(${where}) AND ${span}`)
  const rows: EmbeddingRow[] = []
  for await (const batch of query) rows.push(...rowsOf<EmbeddingRow>(batch, SHOWN_COLUMNS))
  return rows.sort((a, b) => a.created_at - b.created_at || (a.embedding_id < b.embedding_id ? -1 : 1))
}
