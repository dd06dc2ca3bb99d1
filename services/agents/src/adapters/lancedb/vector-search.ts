import type { Table, VectorQuery } from '@lancedb/lancedb'
import type { EmbeddingRow } from './embedding-table.ts'
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

/** (1 + cosine) / 2 of two vectors of the same length. */
export function similarity(a: Float32Array, b: Float32Array): number {
  let dot = 0
  let ofA = 0
  let ofB = 0
  for (let index = 0; index < a.length; index++) {
    const x = a[index] as number
    const y = b[index] as number
    dot += x * y
    ofA += x * x
    ofB += y * y
  }
  return scoreOf(1 - dot / Math.sqrt(ofA * ofB))
}
