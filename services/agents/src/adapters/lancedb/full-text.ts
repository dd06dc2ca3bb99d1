import {
  BooleanQuery,
  type FullTextQuery,
  Index,
  MatchQuery,
  Occur,
  Operator,
  type Table,
} from '@lancedb/lancedb'
import { analyse } from '../../domain/keyword/analyse.ts'
import type { Expansion } from '../../domain/keyword/similar.ts'
import type { KeywordPlan } from '../../domain/keyword/vocabulary.ts'
import { ADDRESS, type Hit } from './shown-rows.ts'
import { TERMS } from './text-column.ts'

export interface KeywordOptions {
  readonly limit: number
  /** SQL that rows must fulfil. */
  readonly where?: string | undefined
}

const INDEX = 'terms_idx'

/** A keyword has no more distinct terms than this. */
const MOST_TERMS_A_KEYWORD = 256

/** Up to so many rows, scores of single rows are taken from a search of all. */
const SMALL = 5000

/** Made on the empty table: rows are searched from the first on, indexed or not. The terms are ready for use. */
export async function createFullTextIndex(table: Table): Promise<void> {
  await table.createIndex(TERMS, {
    name: INDEX,
    config: Index.fts({
      baseTokenizer: 'whitespace',
      lowercase: false,
      stem: false,
      removeStopWords: false,
      asciiFolding: false,
      withPosition: false,
      maxTokenLength: 4096,
    }),
  })
}

export async function hasFullTextIndex(table: Table): Promise<boolean> {
  return (await table.listIndices()).some(({ name }) => name === INDEX)
}

/**
 * Rows by BM25 (k1 1.2, b 0.75) over the table, best first, equal scores in the table's order.
 *
 * With `tiers` no row that matches only by similar words ranks above one that holds a word of the query: such rows
 * follow after, their scores scaled below the others', until `limit` is reached. Without, similar words of those
 * that no row holds simply count less.
 */
export async function searchKeywords(
  table: Table,
  plan: KeywordPlan,
  options: KeywordOptions & { readonly tiers?: boolean },
): Promise<Hit[]> {
  if (plan.exact.length === 0) return []
  const exact = anyOf(plan.exact)
  const similar = plan.expansions.map(expansionQuery)
  if (options.tiers === false) return search(table, combine(Occur.Should, exact, similar), options)
  const hits = await search(table, combine(Occur.Must, exact, similar), options)
  const open = options.limit - hits.length
  if (open <= 0) return hits
  const more = [...similar, ...(await plan.similar()).map(expansionQuery)]
  if (more.length === 0) return hits
  const rest = await search(table, combine(Occur.MustNot, exact, more), { ...options, limit: open })
  return [...hits, ...scaleBelow(rest, hits.at(-1)?.score)]
}

/**
 * The scores of these rows, on the scale of `searchKeywords` without tiers. Rows that match nothing are absent.
 * @param where the condition of that search, which all these rows fulfil
 */
export async function scoreByAddresses(
  table: Table,
  plan: KeywordPlan,
  addresses: readonly bigint[],
  where?: string,
): Promise<Map<bigint, number>> {
  if (plan.exact.length === 0 || addresses.length === 0) return new Map()
  const query = combine(Occur.Should, anyOf(plan.exact), plan.expansions.map(expansionQuery))
  const asked = new Set(addresses)
  // LanceDB takes the statistics of rows that are not indexed from those that pass the condition.
  const stats = await table.indexStats(INDEX)
  const rows = (stats?.numIndexedRows ?? 0) + (stats?.numUnindexedRows ?? 0)
  const isSmall = rows > 0 && rows <= SMALL && (stats?.numUnindexedRows ?? 0) > 0
  const hits = await search(
    table,
    query,
    isSmall
      ? { limit: rows, where }
      : { limit: asked.size, where: `${ADDRESS} IN (${[...asked].join(', ')})` },
  )
  return new Map(
    hits.filter(({ address }) => asked.has(address)).map(({ address, score }) => [address, score]),
  )
}

/**
 * Rows that hold the keywords, exactly. A keyword of several words is held when all its words are.
 * @param keywords those without any term, such as stop words alone, are ignored
 * @param options requireAll asks for all keywords instead of one
 */
export async function searchAllKeywords(
  table: Table,
  keywords: readonly string[],
  language: string,
  options: KeywordOptions & { readonly requireAll: boolean },
): Promise<Hit[]> {
  const terms = keywords.map((keyword) =>
    [...new Set(analyse(keyword, language))].slice(0, MOST_TERMS_A_KEYWORD),
  )
  const distinct = new Map(
    terms.filter((list) => list.length > 0).map((list) => [list.toSorted().join(' '), list]),
  )
  if (distinct.size === 0) return []
  const occur = options.requireAll ? Occur.Must : Occur.Should
  const clauses = [...distinct.values()].map((list): [Occur, FullTextQuery] => [
    occur,
    new MatchQuery(list.join(' '), TERMS, { operator: Operator.And }),
  ])
  return search(table, new BooleanQuery(clauses), options)
}

export interface FullTextState {
  readonly rows: number
  /** Rows that each search reads through: about 0.7 ms per 100. */
  readonly unindexed: number
}

export async function fullTextState(table: Table): Promise<FullTextState> {
  const stats = await table.indexStats(INDEX)
  const unindexed = stats?.numUnindexedRows ?? 0
  return { rows: (stats?.numIndexedRows ?? 0) + unindexed, unindexed }
}

const anyOf = (terms: readonly string[], boost = 1): FullTextQuery =>
  new MatchQuery(terms.join(' '), TERMS, { operator: Operator.Or, boost })

const expansionQuery = ({ terms, weight }: Expansion): FullTextQuery => anyOf(terms, weight)

function combine(occur: Occur, exact: FullTextQuery, similar: readonly FullTextQuery[]): FullTextQuery {
  if (similar.length === 0) return exact
  return new BooleanQuery([
    [occur, exact],
    ...similar.map((query): [Occur, FullTextQuery] => [Occur.Should, query]),
  ])
}

async function search(table: Table, query: FullTextQuery, options: KeywordOptions): Promise<Hit[]> {
  let search = table.query().fullTextSearch(query).select(['_score']).withRowId().limit(options.limit)
  if (options.where !== undefined) search = search.where(options.where)
  const found = await search.toArrow()
  const addresses = found.getChild(ADDRESS)
  const scores = found.getChild('_score')
  return Array.from(
    { length: found.numRows },
    (_, index): Hit => ({ address: addresses?.get(index), score: scores?.get(index) }),
  ).sort((a, b) => b.score - a.score || (a.address < b.address ? -1 : 1))
}

function scaleBelow(hits: readonly Hit[], ceiling: number | undefined): Hit[] {
  const best = hits[0]?.score ?? 0
  const factor = ceiling === undefined || best <= ceiling ? 1 : ceiling / best
  return hits.map((hit) => ({ ...hit, score: hit.score * factor }))
}
