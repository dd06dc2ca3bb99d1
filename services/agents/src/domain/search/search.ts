import type { Table } from '@lancedb/lancedb'
import type { Float32, Vector } from 'apache-arrow'
import type { EmbeddingRow } from '../../adapters/lancedb/embedding-table.ts'
import { filterSql } from '../../adapters/lancedb/filter-sql.ts'
import {
  type KeywordHit,
  scoreByIds,
  searchAllKeywords,
  searchKeywords,
} from '../../adapters/lancedb/full-text.ts'
import { SHOWN_COLUMNS } from '../../adapters/lancedb/table-fields.ts'
import { type ScoredRow, searchVectors, similarity } from '../../adapters/lancedb/vector-search.ts'
import type {
  HybridSearchInput,
  KeywordFilterSearchInput,
  KeywordSearchInput,
  VectorSearchInput,
} from '../../contract/search.ts'
import type { StoreKey, VectorStoreRow } from '../../queries/vector-stores.ts'
import type { AgentsContext } from '../context.ts'
import { readVector } from '../embeddings/vector.ts'
import type { Filter } from '../filter/filter.ts'
import { parseFilter, parseKeywordFilter } from '../filter/parse-filter.ts'
import { analyse } from '../keyword/analyse.ts'
import type { KeywordPlan } from '../keyword/vocabulary.ts'
import { findStore, keyOf, whileThere } from '../vector-stores.ts'
import { fuse } from './fuse.ts'

/** A row that a search found. */
export interface Found {
  readonly row: EmbeddingRow
  readonly score: number
  /** Only where it was asked for. */
  readonly vector?: Float32Array | undefined
}

export const DEFAULT_LIMIT = 10
export const DEFAULT_VECTOR_WEIGHT = 0.7
/**
 * Candidates of each search that hybrid search ranks: the largest limit, so that an order does not depend on how much
 * of it is asked for. With 50, 100 and 200 of them nDCG@10 on SciFact is 0.721, 0.726 and 0.728.
 */
const CANDIDATES = 100
const WITH_VECTOR = [...SHOWN_COLUMNS, 'vector']

function queryVector(store: VectorStoreRow, given: unknown): Float32Array {
  const vector = new Float32Array(store.embedding_dimension)
  readVector('body.queryEmbedding', given, vector)
  return vector
}

function whereOf(store: VectorStoreRow, filter: Filter | undefined): string | undefined {
  return filter === undefined ? undefined : filterSql(filter, (text) => analyse(text, store.language))
}

/** Runs a search of a store; one that nothing was written to has no table, and no results. */
async function inTable<T>(
  ctx: AgentsContext,
  store: VectorStoreRow,
  work: (table: Table, key: StoreKey) => Promise<T[]>,
): Promise<T[]> {
  const key = keyOf(store)
  return whileThere(ctx, key, async () => {
    const table = await ctx.retrieval.find(key)
    ctx.upkeep.noteSearch(key)
    return table === undefined ? [] : ctx.searches.run(() => work(table, key))
  })
}

const matchedRow = ({ row, score }: KeywordHit): Found => ({ row: row as EmbeddingRow & typeof row, score })

const foundRow = ({ score, vector, ...row }: ScoredRow): Found => ({ row, score, vector })

const above = (found: Found[], threshold: number | undefined): Found[] =>
  threshold === undefined ? found : found.filter(({ score }) => score >= threshold)

/** Nearest by cosine. @throws AppError 400, 404 */
export async function vectorSearch(
  ctx: AgentsContext,
  key: StoreKey,
  input: VectorSearchInput,
): Promise<Found[]> {
  const filter = input.metadataFilter === undefined ? undefined : parseFilter(input.metadataFilter)
  const store = await findStore(ctx, key)
  const vector = queryVector(store, input.queryEmbedding)
  const where = whereOf(store, filter)
  const rows = await inTable(ctx, store, (table) =>
    searchVectors(table, vector, {
      limit: input.limit ?? DEFAULT_LIMIT,
      where,
      includeVector: input.includeEmbeddings,
    }),
  )
  return above(rows.map(foundRow), input.scoreThreshold)
}

/** Best by BM25. @throws AppError 400, 404 */
export async function keywordSearch(
  ctx: AgentsContext,
  key: StoreKey,
  input: KeywordSearchInput,
): Promise<Found[]> {
  const filter = input.metadataFilter === undefined ? undefined : parseKeywordFilter(input.metadataFilter)
  const store = await findStore(ctx, key)
  const where = whereOf(store, filter)
  return inTable(ctx, store, async (table) => {
    const plan = await ctx.vocabulary.plan(key, input.queryText, store.language, {
      fuzzy: input.fuzzy ?? true,
    })
    const limit = input.limit ?? DEFAULT_LIMIT
    return (await searchKeywords(table, plan, { limit, where, columns: SHOWN_COLUMNS })).map(matchedRow)
  })
}

/** Rows with any or all of some keywords that pass a filter. @throws AppError 400, 404 */
export async function keywordFilterSearch(
  ctx: AgentsContext,
  key: StoreKey,
  input: KeywordFilterSearchInput,
): Promise<Found[]> {
  const filter = parseFilter(input.filters, 'body.filters')
  const store = await findStore(ctx, key)
  const where = whereOf(store, filter)
  return inTable(ctx, store, async (table) => {
    const hits = await searchAllKeywords(table, input.keywords, store.language, {
      limit: input.limit ?? DEFAULT_LIMIT,
      where,
      columns: SHOWN_COLUMNS,
      requireAll: input.requireAllKeywords ?? false,
    })
    return hits.map(matchedRow)
  })
}

/** What hybrid search asks for, read and checked. */
export interface HybridQuery {
  readonly text: string
  readonly vector: Float32Array
  readonly limit: number
  readonly vectorWeight: number
  readonly where: string | undefined
  readonly includeVector: boolean
}

/**
 * Ranks by both. Candidates are the best of each search alone; one that a single search found has its other score
 * computed. With all the weight on one side that search answers alone, and its order is kept.
 */
export async function rankHybrid(
  ctx: AgentsContext,
  store: VectorStoreRow,
  table: Table,
  query: HybridQuery,
): Promise<Found[]> {
  const { text, vector, limit, vectorWeight, where, includeVector } = query
  if (vectorWeight === 1) return rankByVector(table, query)
  const plan = await ctx.vocabulary.plan(keyOf(store), text, store.language, { fuzzy: true })
  if (vectorWeight === 0) return rankByKeywords(table, plan, query)
  const [near, matching] = await Promise.all([
    searchVectors(table, vector, { limit: CANDIDATES, where, includeVector }),
    searchKeywords(table, plan, { limit: CANDIDATES, where, tiers: false, columns: WITH_VECTOR }),
  ])
  const keywords = new Map(matching.map((row) => [row.embeddingId, row.score]))
  // Fewer than asked for are all that match: then no other row does.
  if (matching.length === CANDIDATES) {
    const unmatched = near.map((row) => row.embedding_id).filter((id) => !keywords.has(id))
    const scores = await scoreByIds(table, plan, unmatched, where)
    for (const [id, score] of scores) keywords.set(id, score)
  }
  const rows = new Map(near.map((row) => [row.embedding_id, row]))
  for (const hit of matching) {
    if (!rows.has(hit.embeddingId)) rows.set(hit.embeddingId, scoredHit(hit, vector, includeVector))
  }

  const candidates = [...rows].map(([id, { score }]) => ({
    id,
    vector: score,
    keyword: keywords.get(id) ?? 0,
  }))
  return fuse(candidates, vectorWeight)
    .slice(0, limit)
    .flatMap(({ id, score }) => {
      const row = rows.get(id)
      return row === undefined ? [] : [{ ...foundRow(row), score }]
    })
}

/** Vector search as it is; the scores are on the scale of as many candidates as with any other weight. */
async function rankByVector(
  table: Table,
  { vector, limit, where, includeVector }: HybridQuery,
): Promise<Found[]> {
  const [found, candidates] = await Promise.all([
    searchVectors(table, vector, { limit, where, includeVector }),
    searchVectors(table, vector, { limit: CANDIDATES, where }),
  ])
  const all = new Map([...candidates, ...found].map(({ embedding_id: id, score }) => [id, score]))
  const fused = fuse(
    [...all].map(([id, score]) => ({ id, vector: score, keyword: 0 })),
    1,
  )
  const scores = new Map(fused.map(({ id, score }) => [id, score]))
  return found.map((row) => ({ ...foundRow(row), score: scores.get(row.embedding_id) ?? 0 }))
}

/** Keyword search as it is: where words were misspelt its order is not that of BM25 alone. */
async function rankByKeywords(
  table: Table,
  plan: KeywordPlan,
  { limit, where, includeVector }: HybridQuery,
): Promise<Found[]> {
  const columns = includeVector ? WITH_VECTOR : SHOWN_COLUMNS
  const hits = await searchKeywords(table, plan, { limit, where, columns })
  return toShares(hits).map((found, at) => {
    const hit = hits[at]
    return includeVector && hit !== undefined ? { ...found, vector: vectorOf(hit) } : found
  })
}

const vectorOf = ({ row }: KeywordHit): Float32Array => (row.vector as Vector<Float32>).toArray()

/** A row that keyword search found with its vector, scored as vector search would. */
function scoredHit(hit: KeywordHit, query: Float32Array, includeVector: boolean): ScoredRow {
  const vector = vectorOf(hit)
  const { row } = matchedRow(hit)
  return {
    // Arrow's rows cannot be spread.
    embedding_id: row.embedding_id,
    document_id: row.document_id,
    sequence: row.sequence,
    chunk: row.chunk,
    metadata: row.metadata,
    created_at: row.created_at,
    score: similarity(query, vector),
    vector: includeVector ? vector : undefined,
  }
}

/** Keyword scores as shares of the best one. */
function toShares(hits: readonly KeywordHit[]): Found[] {
  const best = Math.max(...hits.map(({ score }) => score))
  return hits.map((hit) => ({ ...matchedRow(hit), score: best > 0 ? hit.score / best : 0 }))
}

/** @throws AppError 400, 404 */
export async function hybridSearch(
  ctx: AgentsContext,
  key: StoreKey,
  input: HybridSearchInput,
): Promise<Found[]> {
  const filter = input.metadataFilter === undefined ? undefined : parseFilter(input.metadataFilter)
  const store = await findStore(ctx, key)
  const query: HybridQuery = {
    text: input.queryText,
    vector: queryVector(store, input.queryEmbedding),
    limit: input.limit ?? DEFAULT_LIMIT,
    vectorWeight: input.vectorWeight ?? DEFAULT_VECTOR_WEIGHT,
    where: whereOf(store, filter),
    includeVector: input.includeEmbeddings ?? false,
  }
  const found = await inTable(ctx, store, (table) => rankHybrid(ctx, store, table, query))
  return above(found, input.scoreThreshold)
}

/** Rankings of one query by each strategy, their scores from 0 to 1. */
export async function rankAll(
  ctx: AgentsContext,
  key: StoreKey,
  query: { text: string; vector: unknown; k: number; compare: boolean },
): Promise<{ hybrid: Found[]; vector: Found[]; keyword: Found[] }> {
  const store = await findStore(ctx, key)
  const vector = queryVector(store, query.vector)
  const hybrid: HybridQuery = {
    text: query.text,
    vector,
    limit: query.k,
    vectorWeight: DEFAULT_VECTOR_WEIGHT,
    where: undefined,
    includeVector: false,
  }
  const [ranked] = await inTable(ctx, store, async (table) => {
    if (!query.compare)
      return [{ hybrid: await rankHybrid(ctx, store, table, hybrid), vector: [], keyword: [] }]
    const plan = await ctx.vocabulary.plan(key, query.text, store.language, { fuzzy: true })
    const near = await searchVectors(table, vector, { limit: query.k })
    const matching = await searchKeywords(table, plan, {
      limit: query.k,
      columns: SHOWN_COLUMNS,
    })
    return [
      {
        hybrid: await rankHybrid(ctx, store, table, hybrid),
        vector: near.map(foundRow),
        keyword: toShares(matching),
      },
    ]
  })
  return ranked ?? { hybrid: [], vector: [], keyword: [] }
}
