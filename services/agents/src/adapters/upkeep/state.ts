import type { Table } from '@lancedb/lancedb'
import { fullTextState } from '../lancedb/full-text-index.ts'

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
 * How a store is used: rows come in and nobody searches it; rows come in and it is searched; nobody has written to it
 * for a while.
 */
export type Use = 'loading' | 'serving' | 'resting'

/**
 * From so many rows on vectors have an index. An exact search of 1,536 dimensions takes 2 µs a row and core: 10 ms
 * here, three times what the index takes for any number, and making it takes a second.
 */
export const VECTOR_INDEX_ROWS = 5000
/** A tail is indexed when it has so many rows, and this share of them all. */
const SERVING_TAIL = { rows: 700, share: 0.014 }
/** While a store is being loaded, indexing would take half of the time: it can wait until somebody needs it. */
const LOADING_TAIL = { rows: 50_000, share: 0.5 }
const RESTING_TAIL = { rows: 100, share: 0.002 }
/** A small one at rest is indexed whole: filtered keyword scores of unindexed rows go by what the filter keeps. */
const SMALL_RESTING_TAIL = { rows: 1, share: 0 }
/** Each part costs a search 1 ms of a core; making one of them all costs 0.3 ms a row. */
const PARTS = { some: 4, many: 24 }
/** The index is made anew when the rows have become so many times more, or so few, since it was. */
const GROWN = 1.1
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
 */
export function upkeepFor(state: TableState, builtRows: number, use: Use): Upkeep {
  if (use === 'loading' && !isLong(tailOf(state), state.rows, LOADING_TAIL)) return 'nothing'
  if (!state.hasVectorIndex && state.rows >= VECTOR_INDEX_ROWS) return 'rebuild'
  if (state.hasVectorIndex) {
    const hasGrown = state.rows >= GROWN * builtRows
    if (state.vectorParts > PARTS.many) return 'rebuild'
    // While rows come in, time is better spent on indexing them.
    if (use === 'resting' && state.vectorParts > PARTS.some && hasGrown) return 'rebuild'
    if (state.rows < SHRUNK * builtRows && state.rows >= VECTOR_INDEX_ROWS) return 'rebuild'
  }
  const resting = state.hasVectorIndex ? RESTING_TAIL : SMALL_RESTING_TAIL
  return isLong(tailOf(state), state.rows, use === 'resting' ? resting : SERVING_TAIL) ? 'index' : 'nothing'
}

const tailOf = ({ textTail, vectorTail }: TableState): number => Math.max(textTail, vectorTail)

const isLong = (tail: number, all: number, least: { rows: number; share: number }): boolean =>
  tail > 0 && tail >= Math.max(least.rows, least.share * all)
