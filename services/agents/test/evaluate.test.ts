import { randomFrom, sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { UNKNOWN_ID } from './chat.ts'
import { type Hit, type Item, type Stores, storesIn, vectorOf } from './retrieval.ts'

interface Figures {
  readonly precisionAtK: number
  readonly recallAtK: number
  readonly mrr: number
  readonly ndcg: number
  readonly averageScore: number
  readonly totalResults: number
  readonly relevantResults: number
}
interface Evaluated {
  readonly metrics: Figures
  readonly comparison?: Readonly<Record<'Vector Only' | 'Keyword Only' | 'Hybrid', Figures>>
  readonly recommendations: readonly string[]
}

let platform: TestPlatform
let stores: Stores
let store = ''
let items: Item[] = []

const TEXT = 'apple cherry'
const VECTOR = vectorOf(1)
const COUNT = 40

beforeAll(async () => {
  platform = await sharedTestPlatform()
  const { spaceId, apiKey } = await platform.space()
  stores = storesIn(platform, spaceId, apiKey)
  store = await stores.store()
  const random = randomFrom(3)
  items = await stores.add(
    store,
    Array.from({ length: COUNT }, (_, i) => ({
      vector: vectorOf(random(), random()),
      // Lengths all differ, so that no two items score the same.
      chunk: `${i % 3 === 0 ? 'nothing' : 'apple '.repeat(1 + (i % 4))} ${i % 5 === 0 ? 'cherry' : ''} ${'pear '.repeat(i)}`,
    })),
  )
})

const evaluate = (body: object): Promise<Evaluated> =>
  stores.demand(200, 'POST', `${store}/evaluate`, { queryText: TEXT, queryEmbedding: VECTOR, ...body })

/** P_k, recall_k, recip_rank and ndcg_cut_k as trec_eval defines them, binary. */
function reference(ranking: readonly string[], relevant: readonly string[], k: number) {
  const gains = ranking.slice(0, k).map((id): number => (relevant.includes(id) ? 1 : 0))
  const dcg = (values: readonly number[]) =>
    values.reduce((sum, gain, index) => sum + gain / (Math.log(index + 2) / Math.log(2)), 0)
  const found = gains.reduce((sum, gain) => sum + gain, 0)
  return {
    precisionAtK: found / k,
    recallAtK: found / relevant.length,
    mrr: found === 0 ? 0 : 1 / (gains.indexOf(1) + 1),
    ndcg: dcg(gains) / dcg(Array(Math.min(k, relevant.length)).fill(1)),
    totalResults: Math.min(k, ranking.length),
    relevantResults: found,
  }
}

function expectFigures(figures: Figures, hits: readonly Hit[], relevant: readonly string[], k: number): void {
  const expected = reference(
    hits.map(({ embeddingId }) => embeddingId),
    relevant,
    k,
  )
  for (const [name, value] of Object.entries(expected)) {
    expect(Math.abs(figures[name as keyof typeof expected] - value), name).toBeLessThan(1e-9)
  }
  const best = Math.max(1, ...hits.map(({ score }) => score))
  const mean = hits.length === 0 ? 0 : hits.reduce((sum, { score }) => sum + score / best, 0) / hits.length
  expect(Math.abs(figures.averageScore - mean)).toBeLessThan(1e-6)
}

describe('evaluating a search', () => {
  it('gives trec_eval’s figures of what each search answers, whatever is relevant', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.subarray(
          Array.from({ length: COUNT }, (_, index) => index),
          { minLength: 1 },
        ),
        fc.array(fc.uuid(), { maxLength: 3 }),
        fc.integer({ min: 1, max: 60 }),
        async (numbers, strangers, k) => {
          const relevant = [...new Set([...numbers.map((i) => items[i]?.embeddingId ?? ''), ...strangers])]
          const query = { queryText: TEXT, queryEmbedding: VECTOR }
          const [body, near, matching, both] = await Promise.all([
            evaluate({ relevantIds: relevant, k }),
            stores.search(store, 'search', { queryEmbedding: VECTOR, limit: k }),
            stores.search(store, 'keyword-search', { queryText: TEXT, limit: k }),
            stores.search(store, 'hybrid-search', { ...query, limit: k }),
          ])
          expect(Object.keys(body.comparison ?? {})).toEqual(['Vector Only', 'Keyword Only', 'Hybrid'])
          if (body.comparison === undefined) return
          expectFigures(body.comparison['Vector Only'], near, relevant, k)
          // BM25 has no upper end: its scores count as shares of the best.
          const best = matching[0]?.score ?? 1
          const shares = matching.map((hit) => ({ ...hit, score: hit.score / best }))
          expectFigures(body.comparison['Keyword Only'], shares, relevant, k)
          expectFigures(body.comparison.Hybrid, both, relevant, k)
          expect(body.metrics).toEqual(body.comparison.Hybrid)
          for (const figures of Object.values(body.comparison)) {
            for (const name of ['precisionAtK', 'recallAtK', 'mrr', 'ndcg', 'averageScore'] as const) {
              expect(figures[name] >= 0 && figures[name] <= 1, name).toBe(true)
            }
          }
        },
      ),
      { numRuns: 60 },
    )
  })

  it('looks at the first 10 by default, and compares', async () => {
    const relevantIds = items.slice(0, 9).map(({ embeddingId }) => embeddingId)
    const body = await evaluate({ relevantIds })
    expect(body).toEqual(await evaluate({ relevantIds, k: 10, compareStrategies: true }))
    expect(body.metrics.totalResults).toBe(10)
  })

  it('leaves the comparison out where it is not wanted', async () => {
    const relevantIds = [items[0]?.embeddingId]
    const alone = await evaluate({ relevantIds, compareStrategies: false })
    expect(Object.keys(alone)).toEqual(['metrics', 'recommendations'])
    expect(alone.metrics).toEqual((await evaluate({ relevantIds })).metrics)
    expect(alone.recommendations.join()).not.toMatch(/Vector|Keyword/)
  })

  it('counts an id once, and takes ids that the store does not hold for what was not found', async () => {
    const [first] = await stores.search(store, 'hybrid-search', { queryText: TEXT, queryEmbedding: VECTOR })
    const id = first?.embeddingId
    expect((await evaluate({ relevantIds: [id, id, id], k: 5 })).metrics).toMatchObject({
      precisionAtK: 0.2,
      recallAtK: 1,
      mrr: 1,
      ndcg: 1,
      relevantResults: 1,
    })
    const half = await evaluate({ relevantIds: [id, UNKNOWN_ID], k: 5 })
    expect(half.metrics).toMatchObject({ recallAtK: 0.5, relevantResults: 1, totalResults: 5 })
    for (const relevantIds of [[UNKNOWN_ID], ['no id'], ["' OR 1=1 --", '']]) {
      const { metrics } = await evaluate({ relevantIds })
      expect(metrics).toMatchObject({ precisionAtK: 0, recallAtK: 0, mrr: 0, ndcg: 0, relevantResults: 0 })
    }
  })

  it('recommends what the figures say', async () => {
    const first = async (kind: string) =>
      (await stores.search(store, kind, { queryText: TEXT, queryEmbedding: VECTOR }))[0]?.embeddingId
    const best = await evaluate({ relevantIds: [await first('hybrid-search')] })
    expect(best.recommendations.join(' ')).toMatch(/Hybrid 1\.000/)
    const words = await evaluate({ relevantIds: [await first('keyword-search')] })
    expect(words.comparison?.['Keyword Only'].ndcg).toBe(1)
    const nothing = await evaluate({ relevantIds: [UNKNOWN_ID] })
    expect(nothing.recommendations.join(' ')).toMatch(/No strategy found.*None of the 1 relevant/)
    const many = await evaluate({ relevantIds: items.map(({ embeddingId }) => embeddingId), k: 10 })
    expect(many.recommendations.join(' ')).toMatch(/k is 10 but 40 embeddings are relevant/)
    for (const { recommendations } of [best, words, nothing, many]) {
      expect(recommendations.length).toBeGreaterThan(0)
    }
  })

  it('finds nothing in an empty store, and says so', async () => {
    const empty = await stores.store()
    const body = await stores.demand<Evaluated>(200, 'POST', `${empty}/evaluate`, {
      queryText: TEXT,
      queryEmbedding: VECTOR,
      relevantIds: [UNKNOWN_ID],
    })
    const none = {
      precisionAtK: 0,
      recallAtK: 0,
      mrr: 0,
      ndcg: 0,
      averageScore: 0,
      totalResults: 0,
      relevantResults: 0,
    }
    expect(body.metrics).toEqual(none)
    expect(body.comparison).toEqual({ 'Vector Only': none, 'Keyword Only': none, Hybrid: none })
    expect(body.recommendations.join(' ')).toContain('the store is empty')
  })

  it('refuses what is wrong, and names it', async () => {
    const right = { queryText: TEXT, queryEmbedding: VECTOR, relevantIds: ['x'] }
    for (const [field, values] of [
      ['queryText', [undefined, null, '', 5, 'x'.repeat(10_001)]],
      ['queryEmbedding', [undefined, null, [], [1], vectorOf(), 'x']],
      ['relevantIds', [undefined, null, [], 'x', [1], {}]],
      ['k', [0, 101, 1.5, '5', null, -1]],
      ['compareStrategies', ['true', 1, null]],
    ] as const) {
      for (const value of values) {
        const answer = await stores.call('POST', `${store}/evaluate`, { ...right, [field]: value })
        expect([answer.status, answer.body.error], `${field} ${JSON.stringify(value)}`).toEqual([400, true])
        expect(answer.body.message).toContain(`body.${field}`)
      }
    }
    expect((await evaluate({ relevantIds: ['x'], k: 100 })).metrics.totalResults).toBe(COUNT)
  })
})
