import { BooleanQuery, type FullTextQuery, MatchQuery, Occur, Operator, type Table } from '@lancedb/lancedb'
import { analyse } from '../../domain/keyword/analyse.ts'
import type { Expansion } from '../../domain/keyword/similar.ts'
import type { KeywordPlan } from '../../domain/keyword/vocabulary.ts'
import { fullTextState } from './full-text-index.ts'
import { ADDRESS, type Hit } from './shown-rows.ts'
import { TERMS } from './text-column.ts'
import { byScore, type TextQuery, type TextTail } from './text-tail.ts'
import type { TextTails } from './text-tails.ts'

export interface KeywordOptions {
  readonly limit: number
  /** SQL that rows must fulfil. */
  readonly where?: string | undefined
  /** Without, the engine reads the rows that are not indexed yet. */
  readonly tails?: TextTails | undefined
}

interface EngineOptions {
  readonly limit: number
  readonly where?: string | undefined
  /** Leaves out the rows that are not indexed. */
  readonly isIndexedOnly?: boolean
}

/** A keyword has no more distinct terms than this. */
const MOST_TERMS_A_KEYWORD = 256

/** Up to so many rows, scores of single rows are taken from a search of all. */
const SMALL = 5000

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
  const { exact, expansions } = plan
  if (exact.length === 0) return []
  const { tiers, ...how } = options
  if (tiers === false) return search(table, { exact, exactly: 'should', similar: expansions }, how)
  const hits = await search(table, { exact, exactly: 'must', similar: expansions }, how)
  const open = how.limit - hits.length
  if (open <= 0) return hits
  const similar = [...expansions, ...(await plan.similar())]
  if (similar.length === 0) return hits
  const rest = await search(table, { exact, exactly: 'mustNot', similar }, { ...how, limit: open })
  return [...hits, ...scaleBelow(rest, hits.at(-1)?.score)]
}

/**
 * The scores of these rows, on the scale of `searchKeywords` without tiers. Rows that match nothing are absent.
 * @param options where is the condition of that search, which all these rows fulfil
 */
export async function scoreByAddresses(
  table: Table,
  plan: KeywordPlan,
  addresses: readonly bigint[],
  options: Omit<KeywordOptions, 'limit'> = {},
): Promise<Map<bigint, number>> {
  if (plan.exact.length === 0 || addresses.length === 0) return new Map()
  const query: TextQuery = { exact: plan.exact, exactly: 'should', similar: plan.expansions }
  const asked = new Set(addresses)
  const hits = await scored(table, query, [...asked], options)
  return new Map(
    hits.filter(({ address }) => asked.has(address)).map(({ address, score }) => [address, score]),
  )
}

/** At least these rows, as far as they match. */
async function scored(
  table: Table,
  query: TextQuery,
  addresses: readonly bigint[],
  options: Omit<KeywordOptions, 'limit'>,
): Promise<Hit[]> {
  const among = (some: readonly bigint[]): EngineOptions => ({
    limit: some.length,
    where: `${ADDRESS} IN (${some.join(', ')})`,
  })
  const memory = await remembered(table, query, options)
  if (memory !== undefined) {
    const indexed = addresses.filter((address) => !memory.tail.has(address))
    const hits =
      indexed.length === 0 ? [] : await ask(table, query, { ...among(indexed), isIndexedOnly: true })
    return indexed.length === addresses.length ? hits : [...hits, ...memory.search(memory.tail.rows)]
  }
  // LanceDB takes the statistics of rows that are not indexed from those that pass the condition.
  const { rows, unindexed } = await fullTextState(table)
  return ask(
    table,
    query,
    rows <= SMALL && unindexed > 0 ? { limit: rows, where: options.where } : among(addresses),
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
  const known = await options.tails?.at(table)
  return askEngine(table, new BooleanQuery(clauses), {
    ...options,
    isIndexedOnly: known?.tail.isEmpty === true,
  })
}

const anyOf = ({ terms, weight }: Expansion): FullTextQuery =>
  new MatchQuery(terms.join(' '), TERMS, { operator: Operator.Or, boost: weight })

const OCCUR = { must: Occur.Must, should: Occur.Should, mustNot: Occur.MustNot }

function engineQuery({ exact, exactly, similar }: TextQuery): FullTextQuery {
  const first = anyOf({ terms: exact, weight: 1 })
  if (similar.length === 0) return first
  return new BooleanQuery([
    [OCCUR[exactly], first],
    ...similar.map((terms): [Occur, FullTextQuery] => [Occur.Should, anyOf(terms)]),
  ])
}

function* termsOf({ exact, similar }: TextQuery): Generator<string> {
  yield* exact
  for (const { terms } of similar) yield* terms
}

interface Remembered {
  readonly tail: TextTail
  /** The best rows of the tail. */
  search(limit: number): Hit[]
}

/** The rows that the index does not hold, for a query; undefined where the engine has to read them. */
async function remembered(
  table: Table,
  query: TextQuery,
  { where, tails }: Omit<KeywordOptions, 'limit'>,
): Promise<Remembered | undefined> {
  const known = await tails?.at(table)
  if (known === undefined) return undefined
  const { tail } = known
  if (tail.isEmpty) return { tail, search: () => [] }
  // What passes a condition is for the engine to say.
  const weights = where === undefined ? await known.weigh(termsOf(query)) : undefined
  return weights === undefined ? undefined : { tail, search: (limit) => tail.search(query, weights, limit) }
}

async function search(table: Table, query: TextQuery, options: KeywordOptions): Promise<Hit[]> {
  const { limit, where } = options
  const memory = await remembered(table, query, options)
  const hits = await ask(table, query, { limit, where, isIndexedOnly: memory !== undefined })
  if (memory === undefined || memory.tail.isEmpty) return hits
  // The index may have grown meanwhile, and both hold a row.
  const distinct = new Map([...memory.search(limit), ...hits].map((hit) => [hit.address, hit]))
  return [...distinct.values()].sort(byScore).slice(0, limit)
}

const ask = (table: Table, query: TextQuery, options: EngineOptions): Promise<Hit[]> =>
  askEngine(table, engineQuery(query), options)

async function askEngine(table: Table, query: FullTextQuery, options: EngineOptions): Promise<Hit[]> {
  let asked = table.query().fullTextSearch(query).select(['_score']).withRowId().limit(options.limit)
  if (options.where !== undefined) asked = asked.where(options.where)
  if (options.isIndexedOnly) asked = asked.fastSearch()
  const found = await asked.toArrow()
  const addresses = found.getChild(ADDRESS)
  const scores = found.getChild('_score')
  return Array.from(
    { length: found.numRows },
    (_, index): Hit => ({ address: addresses?.get(index), score: scores?.get(index) }),
  ).sort(byScore)
}

function scaleBelow(hits: readonly Hit[], ceiling: number | undefined): Hit[] {
  const best = hits[0]?.score ?? 0
  const factor = ceiling === undefined || best <= ceiling ? 1 : ceiling / best
  return hits.map((hit) => ({ ...hit, score: hit.score * factor }))
}
