import type { Table } from '@lancedb/lancedb'
import { fullTextState } from '../lancedb/full-text.ts'

export const VECTOR_INDEX = 'vector_idx'
export const FACETS_INDEX = 'facets_idx'

/** What there is of a table, as far as its upkeep goes. */
export interface TableState {
  readonly rows: number
  /** Rows that a keyword search reads through. */
  readonly textTail: number
  readonly hasVectorIndex: boolean
  /** Rows that a vector search compares one by one. */
  readonly vectorTail: number
  /** Parts of the vector index, each of them searched by every query. */
  readonly vectorParts: number
}

export type Upkeep = 'nothing' | 'index' | 'rebuild'

/**
 * From so many rows on vectors have an index. An exact search of 1,536 dimensions takes 2 µs a row and core: 10 ms
 * here, three times what the index takes for any number, and making it takes a second.
 */
export const VECTOR_INDEX_ROWS = 5000
/** A tail is indexed when it is so long, or this share of the rows, and rows are still coming. */
const BUSY_TAIL = { rows: 1000, share: 0.04 }
/** The same for a store that nobody has written to for a while. */
const RESTING_TAIL = { rows: 100, share: 0.002 }
/** A small one at rest is indexed whole: filtered keyword scores of unindexed rows go by what the filter keeps. */
const SMALL_RESTING_TAIL = { rows: 1, share: 0 }
/** Each part costs a search 0.4 ms; making one of them all costs 0.16 ms a row. */
const PARTS = { some: 8, many: 24 }
/** The index is made anew when the rows have become so many times more, or so few, since it was. */
const GROWN = 1.25
const SHRUNK = 0.7

export async function stateOf(table: Table): Promise<TableState> {
  const [text, vector] = await Promise.all([fullTextState(table), table.indexStats(VECTOR_INDEX)])
  return {
    rows: text.rows,
    textTail: text.unindexed,
    hasVectorIndex: vector !== undefined,
    vectorTail: vector?.numUnindexedRows ?? 0,
    vectorParts: vector?.numIndices ?? 0,
  }
}

/**
 * What a table needs.
 * @param builtRows rows when its vector index was last made as a whole
 * @param isResting whether writes have ceased for now
 */
export function upkeepFor(state: TableState, builtRows: number, isResting: boolean): Upkeep {
  if (!state.hasVectorIndex && state.rows >= VECTOR_INDEX_ROWS) return 'rebuild'
  if (state.hasVectorIndex) {
    const hasGrown = state.rows >= GROWN * builtRows
    if (state.vectorParts > PARTS.many) return 'rebuild'
    // While rows come in, time is better spent on indexing them.
    if (isResting && state.vectorParts > PARTS.some && hasGrown) return 'rebuild'
    if (state.rows < SHRUNK * builtRows && state.rows >= VECTOR_INDEX_ROWS) return 'rebuild'
  }
  const resting = state.hasVectorIndex ? RESTING_TAIL : SMALL_RESTING_TAIL
  const { rows, share } = isResting ? resting : BUSY_TAIL
  const tail = Math.max(state.textTail, state.vectorTail)
  return tail > 0 && tail >= Math.max(rows, share * state.rows) ? 'index' : 'nothing'
}
