import type { Table } from '@lancedb/lancedb'
import { ADDRESS, type Hit } from './shown-rows.ts'

export interface VectorQueryOptions {
  readonly limit: number
  readonly where?: string | undefined
  /** Candidates of the approximate index whose true distance is computed, for each result. */
  readonly refineFactor?: number
}

/** With three, recall@10 on 50,000 clustered vectors is 1.000, with one it is 0.96. */
const REFINE_FACTOR = 3
/** Least breadth of the walk through the graph. */
const LEAST_EF = 100

const scoreOf = (cosineDistance: number): number => Math.min(1, Math.max(0, 1 - cosineDistance / 2))

/**
 * The rows nearest to a vector by cosine, best first; scores are (1 + cosine) / 2. Rows that no index covers yet are
 * compared one by one.
 */
export async function searchVectors(
  table: Table,
  vector: Float32Array,
  { limit, where, refineFactor = REFINE_FACTOR }: VectorQueryOptions,
): Promise<Hit[]> {
  let query = table
    .vectorSearch(vector)
    .distanceType('cosine')
    .select(['_distance'])
    .withRowId()
    .limit(limit)
    .refineFactor(refineFactor)
    .ef(Math.max(LEAST_EF, 2 * refineFactor * limit))
  if (where !== undefined) query = query.where(where)
  const found = await query.toArrow()
  const addresses = found.getChild(ADDRESS)
  const distances = found.getChild('_distance')
  return Array.from({ length: found.numRows }, (_, index) => ({
    address: addresses?.get(index),
    score: scoreOf(distances?.get(index)),
  }))
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
