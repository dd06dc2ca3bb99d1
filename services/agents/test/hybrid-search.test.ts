import { randomFrom, sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  type Hit,
  type NewItem,
  randomVector,
  type Stores,
  storesIn,
  vectorOf,
  vectorScore,
} from './retrieval.ts'

let platform: TestPlatform
let stores: Stores

beforeAll(async () => {
  platform = await sharedTestPlatform()
  const { spaceId, apiKey } = await platform.space()
  stores = storesIn(platform, spaceId, apiKey)
})

const numberOf = ({ metadata }: { metadata: Record<string, unknown> }): number => metadata.i as number
const numbersOf = (hits: readonly Hit[]): number[] => hits.map(numberOf)

/** Between two directions, at cosines from 1 down to 0. */
const turned = (share: number): number[] => vectorOf(1 - share, share, 0.01 * share)
const QUERY = turned(0)
const WORDS = ['apple', 'banana', 'cherry']

/** The service's formula in so many words: scores of both searches in, combined ones out. */
function combined(
  candidates: readonly { i: number; vector: number; keyword: number }[],
  weight: number,
): { i: number; score: number }[] {
  const vectors = candidates.map(({ vector }) => vector)
  const [least, greatest] = [Math.min(...vectors), Math.max(...vectors)]
  const best = Math.max(...candidates.map(({ keyword }) => keyword))
  return candidates
    .map(({ i, vector, keyword }) => ({
      i,
      score:
        weight * ((vector - least) / (greatest - least)) + (1 - weight) * (best > 0 ? keyword / best : 0),
    }))
    .sort((a, b) => b.score - a.score)
}

function expectScores(
  hits: readonly Hit[],
  expected: readonly { i: number; score: number }[],
  tolerance = 1e-6,
): void {
  expect(hits).toHaveLength(expected.length)
  const byNumber = new Map(expected.map(({ i, score }) => [i, score]))
  for (const [at, hit] of hits.entries()) {
    // In this order, or as good as another that floats take for equal.
    expect(Math.abs(hit.score - (expected[at]?.score ?? 9))).toBeLessThan(tolerance)
    expect(Math.abs(hit.score - (byNumber.get(numberOf(hit)) ?? 9))).toBeLessThan(tolerance)
  }
}

describe('in a store whose items are all candidates', () => {
  const COUNT = 60
  const random = randomFrom(5)
  const items: NewItem[] = Array.from({ length: COUNT }, (_, i) => ({
    vector: turned(random()),
    chunk:
      i % 4 === 3
        ? `nothing of note ${i}`
        : `${WORDS[i % 3]} ${'pear '.repeat(i % 11)} ${i % 5 === 0 ? WORDS[(i + 1) % 3] : ''}`,
    metadata: { i, even: i % 2 === 0, kind: i % 3 === 0 ? 'Fresh fruit' : 'dry' },
  }))
  let store = ''

  beforeAll(async () => {
    store = await stores.store()
    await stores.add(store, items)
  })

  const hybrid = (body: object) =>
    stores.search(store, 'hybrid-search', { queryText: 'apple cherry', queryEmbedding: QUERY, ...body })

  /** The vector score by an exact computation, BM25 as keyword search gives it. */
  async function candidates(metadataFilter: object = {}, keep: (i: number) => boolean = () => true) {
    const hits = await stores.search(store, 'keyword-search', {
      queryText: 'apple cherry',
      fuzzy: false,
      limit: 100,
      metadataFilter,
    })
    const keywords = new Map(hits.map((hit) => [numberOf(hit), hit.score]))
    return items
      .map(({ vector }, i) => ({ i, vector: vectorScore(vector, QUERY), keyword: keywords.get(i) ?? 0 }))
      .filter(({ i }) => keep(i))
  }

  it.each([0.01, 0.3, 0.5, 0.7, 0.99])('weighs with %f', async (vectorWeight) => {
    const expected = combined(await candidates(), vectorWeight)
    expectScores(await hybrid({ vectorWeight, limit: 100 }), expected)
    expectScores(await hybrid({ vectorWeight, limit: 7 }), expected.slice(0, 7))
  })

  it('weighs with 0.7 and gives 10 by default', async () => {
    const hits = await hybrid({})
    expectScores(hits, combined(await candidates(), 0.7).slice(0, 10))
    expect(hits).toEqual(await hybrid({ vectorWeight: 0.7, limit: 10 }))
    for (const { score } of hits) expect(score >= 0 && score <= 1).toBe(true)
  })

  it('filters both sides, strings exactly', async () => {
    for (const [filter, keep] of [
      [{ even: true }, (i: number) => i % 2 === 0],
      [{ i: { $lt: 20 } }, (i: number) => i < 20],
      [{ kind: { $eq: 'Fresh fruit' } }, (i: number) => i % 3 === 0],
      [{ kind: 'fruit' }, () => false],
    ] as const) {
      const expected = combined(await candidates(filter, keep), 0.6)
      // Filters of hybrid search are those of vector search: a string is the whole string.
      expectScores(await hybrid({ vectorWeight: 0.6, limit: 100, metadataFilter: filter }), expected)
      for (const vectorWeight of [0, 1]) {
        const numbers = numbersOf(await hybrid({ vectorWeight, limit: 100, metadataFilter: filter }))
        expect(numbers.filter((i) => !keep(i))).toEqual([])
      }
    }
  })

  it('cuts at the combined score, which is included', async () => {
    const all = await hybrid({ limit: 30 })
    const [, , third] = all
    expect(numbersOf(await hybrid({ limit: 30, scoreThreshold: third?.score }))).toEqual(
      numbersOf(all).slice(0, 3),
    )
    expect(await hybrid({ limit: 30, scoreThreshold: 0 })).toEqual(all)
    for (const { score } of await hybrid({ limit: 100, scoreThreshold: 0.5 }))
      expect(score).toBeGreaterThanOrEqual(0.5)
  })

  it.each([0, 0.5, 1])('shows vectors where asked for, with the weight %f', async (vectorWeight) => {
    const hits = await hybrid({ vectorWeight, includeEmbeddings: true })
    expect(hits).toHaveLength(10)
    for (const hit of hits) expect(hit.embedding).toEqual(items[numberOf(hit)]?.vector.map(Math.fround))
    const plain = await hybrid({ vectorWeight })
    expect(plain).toEqual(hits.map(({ embedding: _, ...hit }) => hit))
  })

  it('ranks by vector alone where no word is found, and says nothing of words', async () => {
    const near = numbersOf(await stores.search(store, 'search', { queryEmbedding: QUERY }))
    for (const queryText of ['xylophone', 'the of', '?!']) {
      const hits = await hybrid({ queryText })
      expect(numbersOf(hits)).toEqual(near)
      expect(hits[0]?.score).toBeCloseTo(0.7, 9)
    }
    expect(await hybrid({ queryText: 'xylophone', vectorWeight: 0 })).toEqual([])
  })

  it('finds misspelt words', async () => {
    expect(numbersOf(await hybrid({ queryText: 'chery', vectorWeight: 0.1, limit: 5 }))).toEqual(
      numbersOf(await hybrid({ queryText: 'cherry', vectorWeight: 0.1, limit: 5 })),
    )
  })

  it('refuses what is wrong, and names it', async () => {
    const right = { queryText: 'apple', queryEmbedding: QUERY }
    for (const [field, values] of [
      ['queryText', [undefined, null, '', 5, 'x'.repeat(10_001)]],
      ['queryEmbedding', [undefined, null, [], [1], vectorOf(), QUERY.map(String)]],
      ['limit', [0, 101, 1.5, '5']],
      ['vectorWeight', [-0.1, 1.1, '0.5', null]],
      ['scoreThreshold', [-0.1, 1.1, '0.5', null]],
      ['includeEmbeddings', ['true', 1, null]],
      ['metadataFilter', [[], 'x', { a: { $like: 1 } }]],
    ] as const) {
      for (const value of values) {
        const answer = await stores.call('POST', `${store}/hybrid-search`, { ...right, [field]: value })
        expect([answer.status, answer.body.error], `${field} ${JSON.stringify(value)}`).toEqual([400, true])
        expect(answer.body.message).toContain(`body.${field}`)
      }
    }
    for (const body of [undefined, '[]', '{"queryText": ']) {
      expect((await stores.call('POST', `${store}/hybrid-search`, body)).status).toBe(400)
    }
  })

  it('answers nothing for an empty store', async () => {
    const empty = await stores.store()
    for (const vectorWeight of [0, 0.5, 1]) {
      const body = { queryText: 'apple', queryEmbedding: QUERY, vectorWeight }
      expect(await stores.search(empty, 'hybrid-search', body)).toEqual([])
    }
  })
})

describe('in a store with more items than candidates', () => {
  const COUNT = 300
  const random = randomFrom(11)
  // Lengths all differ, so that no two items score the same.
  const documents = Array.from({ length: COUNT }, (_, i) => [
    ...Array(i % 3 === 0 ? 0 : 1 + (i % 7)).fill('apple'),
    ...Array(5 + i).fill('pear'),
  ])
  const vectors = documents.map(() => turned(random()))
  let store = ''

  beforeAll(async () => {
    store = await stores.store({ metadata: { language: 'none' } })
    await stores.add(
      store,
      documents.map((words, i) => ({ vector: vectors[i] ?? [], chunk: words.join(' '), metadata: { i } })),
    )
  })

  /** BM25 (k1 1.2, b 0.75) of one term. */
  function bm25(term: string): number[] {
    const average = documents.reduce((sum, { length }) => sum + length, 0) / COUNT
    const holding = documents.filter((words) => words.includes(term)).length
    const idf = Math.log(1 + (COUNT - holding + 0.5) / (holding + 0.5))
    return documents.map((words) => {
      const count = words.filter((word) => word === term).length
      return (idf * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * words.length) / average))
    })
  }

  it.each([0.2, 0.5, 0.7])(
    'takes the best 100 of each search, and computes the other score of each (weight %f)',
    async (vectorWeight) => {
      const keywords = bm25('apple')
      const scored = vectors.map((vector, i) => ({
        i,
        vector: vectorScore(vector, QUERY),
        keyword: keywords[i] ?? 0,
      }))
      const near = scored.toSorted((a, b) => b.vector - a.vector).slice(0, 100)
      const matching = scored.toSorted((a, b) => b.keyword - a.keyword).slice(0, 100)
      const candidates = [...new Set([...near, ...matching])]
      expect(candidates.length).toBeGreaterThan(120)
      const expected = combined(candidates, vectorWeight)
      const body = { queryText: 'apple', queryEmbedding: QUERY, vectorWeight }
      // Both lists are cut: an item that only one of them holds has both of its scores all the same.
      const hits = await stores.search(store, 'hybrid-search', { ...body, limit: 20 })
      expectScores(hits, expected.slice(0, 20), 1e-5)
      const all = await stores.search(store, 'hybrid-search', { ...body, limit: 100 })
      expectScores(all, expected.slice(0, 100), 1e-5)
    },
  )
})

describe('with all the weight on one side', () => {
  it('keeps exactly the order of that search alone, among equals too', async () => {
    const store = await stores.store()
    const words = ['apple', 'banana', 'cherry', 'plum']
    await stores.add(
      store,
      // So few that no index is made meanwhile, which might choose otherwise among equals.
      Array.from({ length: 90 }, (_, i) => ({
        vector: i % 3 === 0 ? vectorOf(1, 1) : randomVector(i % 40),
        chunk: i % 5 === 0 ? 'filler here' : `${words[i % 4]} ${words[(i >> 2) % 4]} text`,
        metadata: { i, even: i % 2 === 0 },
      })),
    )
    for (const limit of [1, 10, 25, 100]) {
      for (const metadataFilter of [{}, { even: true }]) {
        for (const queryText of ['apple', 'aple plums', 'bananna']) {
          const shared = { limit, metadataFilter }
          const both = { ...shared, queryText, queryEmbedding: vectorOf(1, 1) }
          const near = await stores.search(store, 'search', { ...shared, queryEmbedding: vectorOf(1, 1) })
          const byVector = await stores.search(store, 'hybrid-search', { ...both, vectorWeight: 1 })
          expect(numbersOf(byVector)).toEqual(numbersOf(near))
          const matching = await stores.search(store, 'keyword-search', { ...shared, queryText })
          const byWords = await stores.search(store, 'hybrid-search', { ...both, vectorWeight: 0 })
          expect(numbersOf(byWords)).toEqual(numbersOf(matching))
          for (const hits of [byVector, byWords]) {
            const scores = hits.map(({ score }) => score)
            expect(scores).toEqual(scores.toSorted((a, b) => b - a))
            expect(scores[0]).toBe(1)
          }
        }
      }
    }
  })
})
