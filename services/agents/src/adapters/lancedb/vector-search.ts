import type { Table, VectorQuery } from '@lancedb/lancedb'
import { type EmbeddingRow, embeddingIdIn } from './embedding-table.ts'
import { SHOWN_COLUMNS } from './table-fields.ts'

export interface ScoredRow extends EmbeddingRow {
  /** (1 + cosine) / 2. */
  readonly score: number
  readonly vector: Float32Array | undefined
}

export interface VectorQueryOptions {
  readonly limit: number
  readonly where?: string | undefined
  readonly includeVector?: boolean | undefined
}

/**
 * Candidates of the approximate index whose true distance is computed, for each result: with three, recall@10 on
 * 50,000 clustered vectors is 1.000, with one it is 0.96.
 */
const REFINE_FACTOR = 3
/** Least breadth of the walk through the graph. */
const LEAST_EF = 100

const scoreOf = (cosineDistance: number): number => Math.min(1, Math.max(0, 1 - cosineDistance / 2))

async function scoredRows(query: VectorQuery, includeVector: boolean): Promise<ScoredRow[]> {
  const columns = [...SHOWN_COLUMNS, ...(includeVector ? ['vector'] : [])]
  const found = await query.select([...columns, '_distance']).toArrow()
  const children = new Map([...columns, '_distance'].map((name) => [name, found.getChild(name)]))
  return Array.from({ length: found.numRows }, (_, index) => {
    const value = (name: string) => children.get(name)?.get(index)
    return {
      embedding_id: value('embedding_id'),
      document_id: value('document_id'),
      sequence: value('sequence'),
      chunk: value('chunk'),
      metadata: value('metadata'),
      created_at: value('created_at'),
      score: scoreOf(value('_distance')),
      vector: includeVector ? value('vector').toArray() : undefined,
    }
  })
}

/** The rows nearest to a vector by cosine, best first. Rows that no index covers yet are compared one by one. */
export async function searchVectors(
  table: Table,
  vector: Float32Array,
  { limit, where, includeVector = false }: VectorQueryOptions,
): Promise<ScoredRow[]> {
  let query = table
    .vectorSearch(vector)
    .distanceType('cosine')
    .limit(limit)
    .refineFactor(REFINE_FACTOR)
    .ef(Math.max(LEAST_EF, 2 * REFINE_FACTOR * limit))
  if (where !== undefined) query = query.where(where)
  return scoredRows(query, includeVector)
}

/** Rows by their ids, with their scores for a vector; in no order. Ids that the table does not hold are left out. */
export async function scoreVectors(
  table: Table,
  vector: Float32Array,
  ids: readonly string[],
  includeVector = false,
): Promise<ScoredRow[]> {
  if (ids.length === 0) return []
  const query = table
    .vectorSearch(vector)
    .distanceType('cosine')
    .bypassVectorIndex()
    .where(embeddingIdIn(ids))
    .limit(ids.length)
  return scoredRows(query, includeVector)
}
