import type { Table } from '@lancedb/lancedb'
import { filterSql } from '../../adapters/lancedb/filter-sql.ts'
import {
  type KeywordOptions,
  scoreByAddresses,
  searchAllKeywords,
  searchKeywords,
} from '../../adapters/lancedb/full-text.ts'
import { type Hit, readVectors } from '../../adapters/lancedb/shown-rows.ts'
import { searchVectors, similarity } from '../../adapters/lancedb/vector-search.ts'
import type { AgentsContext } from '../../context.ts'
import type {
  HybridSearchInput,
  KeywordFilterSearchInput,
  KeywordSearchInput,
  VectorSearchInput,
} from '../../contract/search.ts'
import type { StoreKey, VectorStoreRow } from '../../queries/vector-stores.ts'
import { readVector } from '../embeddings/vector.ts'
import type { Filter } from '../filter/filter.ts'
import { parseFilter, parseKeywordFilter } from '../filter/parse-filter.ts'
import { analyse } from '../keyword/analyse.ts'
import type { KeywordPlan } from '../keyword/vocabulary.ts'
import { findStore, keyOf, whileThere } from '../vector-stores.ts'
import { type Found, foundBy } from './found.ts'
import { fuse } from './fuse.ts'

export const DEFAULT_LIMIT = 10
export const DEFAULT_VECTOR_WEIGHT = 0.7
/**
 * Candidates of each search that hybrid search ranks: the largest limit, so that an order does not depend on how much
 * of it is asked for. With 50, 100 and 200 of them nDCG@10 on SciFact is 0.721, 0.726 and 0.728.
 */
const CANDIDATES = 100

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

const above = (hits: readonly Hit[], threshold: number | undefined): readonly Hit[] =>
  threshold === undefined ? hits : hits.filter(({ score }) => score >= threshold)

/** Nearest by cosine. @throws AppError 400, 404 */
export async function vectorSearch(
  ctx: AgentsContext,
  key: StoreKey,
  input: VectorSearchInput,
): Promise<Found[]> {
  const filter = input.metadataFilter === undefined ? undefined : parseFilter(input.metadataFilter)
  const store = await findStore(ctx, key)
  const vector = queryVector(store, input.queryEmbedding)
  const options = { limit: input.limit ?? DEFAULT_LIMIT, where: whereOf(store, filter) }
  return inTable(ctx, store, (table) =>
    foundBy(
      ctx.retrieval.rows,
      table,
      async () => above(await searchVectors(table, vector, options), input.scoreThreshold),
      input.includeEmbeddings,
    ),
  )
}

/** Best by BM25. @throws AppError 400, 404 */
export async function keywordSearch(
  ctx: AgentsContext,
  key: StoreKey,
  input: KeywordSearchInput,
): Promise<Found[]> {
  const filter = input.metadataFilter === undefined ? undefined : parseKeywordFilter(input.metadataFilter)
  const store = await findStore(ctx, key)
  const { rows, tails } = ctx.retrieval
  const options = { limit: input.limit ?? DEFAULT_LIMIT, where: whereOf(store, filter), tails }
  return inTable(ctx, store, async (table) => {
    const plan = await ctx.vocabulary.plan(key, input.queryText, store.language, {
      fuzzy: input.fuzzy ?? true,
    })
    return foundBy(rows, table, () => searchKeywords(table, plan, options))
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
  const options = {
    limit: input.limit ?? DEFAULT_LIMIT,
    where: whereOf(store, filter),
    requireAll: input.requireAllKeywords ?? false,
    tails: ctx.retrieval.tails,
  }
  return inTable(ctx, store, (table) =>
    foundBy(ctx.retrieval.rows, table, () =>
      searchAllKeywords(table, input.keywords, store.language, options),
    ),
  )
}

/** What hybrid search asks for, read and checked. */
export interface HybridQuery {
  readonly text: string
  readonly vector: Float32Array
  readonly limit: number
  readonly vectorWeight: number
  readonly where: string | undefined
}

/**
 * Ranks by both. Candidates are the best of each search alone; one that a single search found has its other score
 * computed. With all the weight on one side that search answers alone, and its order is kept.
 */
async function rankHybrid(
  ctx: AgentsContext,
  store: VectorStoreRow,
  table: Table,
  query: HybridQuery,
): Promise<Hit[]> {
  const { text, vector, limit, vectorWeight, where } = query
  if (vectorWeight === 1) return rankByVector(table, query)
  const { tails } = ctx.retrieval
  const plan = await ctx.vocabulary.plan(keyOf(store), text, store.language, { fuzzy: true })
  if (vectorWeight === 0) return toShares(await searchKeywords(table, plan, { limit, where, tails }))
  const [near, matching] = await Promise.all([
    searchVectors(table, vector, { limit: CANDIDATES, where, refineFactor: 1 }),
    searchKeywords(table, plan, { limit: CANDIDATES, where, tails, tiers: false }),
  ])
  const vectors = scoresOf(near)
  const keywords = scoresOf(matching)
  await Promise.all([
    addVectorScores(table, vector, vectors, keywords),
    // Fewer than asked for are all that match: then no other row does.
    matching.length === CANDIDATES
      ? addKeywordScores(table, plan, { where, tails }, vectors, keywords)
      : undefined,
  ])
  const candidates = [...vectors].map(([address, score]) => ({
    address,
    vector: score,
    keyword: keywords.get(address) ?? 0,
  }))
  return fuse(candidates, vectorWeight).slice(0, limit)
}

/** Scores by address. */
type Scores = Map<bigint, number>

const scoresOf = (hits: readonly Hit[]): Scores => new Map(hits.map(({ address, score }) => [address, score]))

/** Those of `of` that `others` lacks. */
const lacking = (others: Scores, of: Scores): bigint[] =>
  [...of.keys()].filter((address) => !others.has(address))

async function addVectorScores(
  table: Table,
  query: Float32Array,
  vectors: Scores,
  keywords: Scores,
): Promise<void> {
  for (const [address, vector] of await readVectors(table, lacking(vectors, keywords))) {
    vectors.set(address, similarity(query, vector))
  }
}

async function addKeywordScores(
  table: Table,
  plan: KeywordPlan,
  options: Omit<KeywordOptions, 'limit'>,
  vectors: Scores,
  keywords: Scores,
): Promise<void> {
  const found = await scoreByAddresses(table, plan, lacking(keywords, vectors), options)
  for (const [address, score] of found) keywords.set(address, score)
}

/** Vector search as it is; the scores are on the scale of as many candidates as with any other weight. */
async function rankByVector(table: Table, { vector, limit, where }: HybridQuery): Promise<Hit[]> {
  const [found, candidates] = await Promise.all([
    searchVectors(table, vector, { limit, where }),
    searchVectors(table, vector, { limit: CANDIDATES, where, refineFactor: 1 }),
  ])
  const all = scoresOf([...candidates, ...found])
  const fused = fuse(
    [...all].map(([address, score]) => ({ address, vector: score, keyword: 0 })),
    1,
  )
  const scores = scoresOf(fused)
  return found.map(({ address }) => ({ address, score: scores.get(address) ?? 0 }))
}

/** Keyword scores as shares of the best one. */
function toShares(hits: readonly Hit[]): Hit[] {
  const best = Math.max(...hits.map(({ score }) => score))
  return hits.map(({ address, score }) => ({ address, score: best > 0 ? score / best : 0 }))
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
  }
  return inTable(ctx, store, (table) =>
    foundBy(
      ctx.retrieval.rows,
      table,
      async () => above(await rankHybrid(ctx, store, table, query), input.scoreThreshold),
      input.includeEmbeddings,
    ),
  )
}

/** Rankings of one query by each strategy, their scores from 0 to 1. */
export async function rankAll(
  ctx: AgentsContext,
  key: StoreKey,
  query: { text: string; vector: unknown; k: number; compare: boolean },
): Promise<{ hybrid: Found[]; vector: Found[]; keyword: Found[] }> {
  const store = await findStore(ctx, key)
  const vector = queryVector(store, query.vector)
  const options = { limit: query.k, where: undefined }
  const hybrid: HybridQuery = { ...options, text: query.text, vector, vectorWeight: DEFAULT_VECTOR_WEIGHT }
  const [ranked] = await inTable(ctx, store, async (table) => {
    const ofHybrid = await foundBy(ctx.retrieval.rows, table, () => rankHybrid(ctx, store, table, hybrid))
    if (!query.compare) return [{ hybrid: ofHybrid, vector: [], keyword: [] }]
    const plan = await ctx.vocabulary.plan(key, query.text, store.language, { fuzzy: true })
    return [
      {
        hybrid: ofHybrid,
        vector: await foundBy(ctx.retrieval.rows, table, () => searchVectors(table, vector, options)),
        keyword: await foundBy(ctx.retrieval.rows, table, async () =>
          toShares(await searchKeywords(table, plan, { ...options, tails: ctx.retrieval.tails })),
        ),
      },
    ]
  })
  return ranked ?? { hybrid: [], vector: [], keyword: [] }
}
