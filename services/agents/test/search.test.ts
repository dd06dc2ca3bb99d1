import { rm } from 'node:fs/promises'
import path from 'node:path'
import { sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import {
  type Hit,
  type Item,
  idOf,
  randomVector,
  type Stores,
  storesIn,
  vectorOf,
  vectorScore,
} from './retrieval.ts'

let platform: TestPlatform
let spaceId = ''
let stores: Stores

beforeAll(async () => {
  platform = await sharedTestPlatform()
  const space = await platform.space()
  spaceId = space.spaceId
  stores = storesIn(platform, spaceId, space.apiKey)
})

const idsOf = (items: readonly Item[]): string[] => items.map(({ embeddingId }) => embeddingId)
const chunksOf = (items: readonly Item[]): string[] => items.map(({ chunk }) => chunk)
const refused = async (path: string, kind: string, body: unknown) => {
  const answer = await stores.call('POST', `${path}/${kind}`, body)
  expect([answer.status, answer.body.error], JSON.stringify(answer.body)).toEqual([400, true])
  return answer.body.message as string
}

describe('vector search', () => {
  const COUNT = 120
  const vectors = Array.from({ length: COUNT }, (_, index) =>
    randomVector(index).map((number) => number + (index % 7) / 20),
  )
  const query = randomVector(999)
  let store = ''
  let items: Item[] = []

  beforeAll(async () => {
    store = await stores.store()
    items = await stores.add(
      store,
      vectors.map((vector, i) => ({
        vector,
        chunk: `chunk ${i}`,
        documentId: `d${i % 10}`,
        metadata: {
          i,
          even: i % 2 === 0,
          tags: [`t${i % 3}`, `u${i % 5}`],
          author: { name: `n${i % 4}` },
          day: `2026-01-${String((i % 28) + 1).padStart(2, '0')}`,
          ...(i % 6 === 0 ? { rare: null } : {}),
        },
      })),
    )
  })

  const search = (body: object) => stores.search(store, 'search', { queryEmbedding: query, ...body })

  /** All items as an exact computation ranks them. */
  const ranked = (keep: (i: number) => boolean = () => true) =>
    vectors
      .map((vector, i) => ({ i, score: vectorScore(vector, query) }))
      .filter(({ i }) => keep(i))
      .sort((a, b) => b.score - a.score)

  const expectRanking = (hits: readonly Hit[], expected: readonly { i: number; score: number }[]) => {
    expect(idsOf(hits)).toEqual(expected.map(({ i }) => items[i]?.embeddingId))
    for (const [at, { score }] of hits.entries()) {
      expect(Math.abs(score - (expected[at]?.score ?? 9))).toBeLessThan(1e-6)
    }
  }

  it('ranks by cosine, with scores of (1 + cosine) / 2', async () => {
    const answer = await stores.call('POST', `${store}/search`, { queryEmbedding: query, limit: 100 })
    expect(answer.status).toBe(200)
    expect(Object.keys(answer.body)).toEqual(['vectorStoreId', 'results'])
    expect(answer.body.vectorStoreId).toBe(idOf(store))
    expectRanking(answer.body.results, ranked().slice(0, 100))
    const [first] = answer.body.results
    const {
      createdAt: _,
      vectorStoreId: __,
      ...fields
    } = items[ranked()[0]?.i ?? -1] as Item & {
      createdAt: string
      vectorStoreId: string
    }
    expect(first).toEqual({ ...fields, score: first.score })
  })

  it('knows the same, the opposite and what lies across, whatever the lengths', async () => {
    const other = await stores.store()
    const made = await stores.add(other, [
      { vector: vectorOf(-3, 0) },
      { vector: vectorOf(0, 1e-6) },
      { vector: vectorOf(1e12, 0) },
      { vector: vectorOf(1, 1) },
    ])
    const hits = await stores.search(other, 'search', { queryEmbedding: vectorOf(1e-3) })
    expect(idsOf(hits)).toEqual([2, 3, 1, 0].map((at) => made[at]?.embeddingId))
    const scores = hits.map(({ score }) => score)
    for (const [at, score] of [1, (1 + Math.SQRT1_2) / 2, 0.5, 0].entries()) {
      expect(scores[at]).toBeCloseTo(score, 6)
    }
    for (const score of scores) expect(score >= 0 && score <= 1).toBe(true)
  })

  it('gives as many as asked for, 10 by default', async () => {
    expectRanking(await search({}), ranked().slice(0, 10))
    expectRanking(await search({ limit: 1 }), ranked().slice(0, 1))
    for (const limit of [0, 101, -1, 1.5, '5', null]) {
      expect(await refused(store, 'search', { queryEmbedding: query, limit })).toContain('body.limit')
    }
  })

  it('keeps what reaches the threshold, the threshold included', async () => {
    const all = await search({ limit: 20 })
    const [, , , fourth] = all
    expect(idsOf(await search({ limit: 20, scoreThreshold: fourth?.score }))).toEqual(idsOf(all).slice(0, 4))
    expect(await search({ limit: 20, scoreThreshold: 0 })).toEqual(all)
    expect(await search({ scoreThreshold: 1 })).toEqual([])
    expect(
      await stores.search(store, 'search', { queryEmbedding: vectors[0], scoreThreshold: 0.9999 }),
    ).toHaveLength(1)
    for (const scoreThreshold of [-0.1, 1.1, '0.5', null]) {
      expect(await refused(store, 'search', { queryEmbedding: query, scoreThreshold })).toContain(
        'body.scoreThreshold',
      )
    }
  })

  it('shows vectors as they were stored, where asked for', async () => {
    const hits = await search({ includeEmbeddings: true, limit: 5 })
    for (const { embedding, embeddingId } of hits) {
      const stored = vectors[idsOf(items).indexOf(embeddingId)]
      expect(embedding).toEqual(stored?.map(Math.fround))
    }
    for (const includeEmbeddings of [false, undefined]) {
      for (const hit of await search({ includeEmbeddings })) expect(hit).not.toHaveProperty('embedding')
    }
    expect(await refused(store, 'search', { queryEmbedding: query, includeEmbeddings: 1 })).toContain(
      'body.includeEmbeddings',
    )
  })

  it.each<[unknown, (i: number) => boolean]>([
    [{}, () => true],
    [{ even: true }, (i) => i % 2 === 0],
    [{ even: 'true' }, () => false],
    [{ even: false, i: { $lt: 50 } }, (i) => i % 2 === 1 && i < 50],
    [{ i: { $gte: 7, $lte: 9 } }, (i) => i >= 7 && i <= 9],
    [{ i: { $gt: '7' } }, () => false],
    [{ i: { $in: [1, 5, '6', 999] } }, (i) => i === 1 || i === 5],
    [{ i: { $ne: 5 } }, (i) => i !== 5],
    [{ i: { $nin: [1, 2, 3] } }, (i) => ![1, 2, 3].includes(i)],
    [{ tags: 't1' }, (i) => i % 3 === 1],
    [{ tags: { $in: ['t1', 'u0'] } }, (i) => i % 3 === 1 || i % 5 === 0],
    [{ 'author.name': 'n2' }, (i) => i % 4 === 2],
    [{ day: { $gte: '2026-01-10', $lt: '2026-01-12' } }, (i) => [9, 10].includes(i % 28)],
    [{ rare: { $exists: true } }, (i) => i % 6 === 0],
    [{ rare: { $exists: false } }, (i) => i % 6 !== 0],
    [{ missing: { $ne: 1 } }, () => true],
    [{ missing: 1 }, () => false],
    [
      { $or: [{ i: 1 }, { i: 2 }, { $and: [{ even: true }, { i: { $lt: 5 } }] }] },
      (i) => [0, 1, 2, 4].includes(i),
    ],
    [{ $nor: [{ even: true }, { i: { $gt: 10 } }] }, (i) => i % 2 === 1 && i <= 10],
    [{ i: { $not: { $gte: 5 } } }, (i) => i < 5],
    [{ "it's": "' OR 1=1 --" }, () => false],
    [{ 'i) OR (1=1': 1 }, () => false],
  ])('with the filter %j', async (metadataFilter, keep) => {
    expectRanking(await search({ metadataFilter, limit: 100 }), ranked(keep).slice(0, 100))
  })

  it('refuses filters that it does not know, and names them', async () => {
    const filter = (metadataFilter: unknown) =>
      refused(store, 'search', { queryEmbedding: query, metadataFilter })
    expect(await filter({ i: { $regex: '.*' } })).toContain('body.metadataFilter.i.$regex')
    expect(await filter({ $where: 'sleep(1)' })).toContain('body.metadataFilter.$where')
    expect(await filter({ $or: [{ a: { $gt: 1, $near: 2 } }] })).toContain('$or[0].a.$near')
    for (const wrong of [
      [],
      'i = 1',
      5,
      null,
      { $or: [] },
      { $and: {} },
      { a: { $in: 5 } },
      { a: { $exists: 1 } },
    ]) {
      expect(await filter(wrong)).toContain('body.metadataFilter')
    }
    let deep: object = { i: 1 }
    for (let level = 0; level < 100; level++) deep = { $and: [deep] }
    await filter(deep)
    let nots: object = { $gt: 1 }
    for (let level = 0; level < 30; level++) nots = { $not: nots }
    expect(await filter({ i: nots })).toContain('body.metadataFilter')
    await filter(JSON.parse(`${'{"a":'.repeat(60)}1${'}'.repeat(60)}`))
  })

  it('refuses query vectors that are none of this store’s', async () => {
    for (const [queryEmbedding, reason] of [
      [undefined, 'body.queryEmbedding is required'],
      [null, 'body.queryEmbedding'],
      ['text', 'body.queryEmbedding'],
      [{}, 'body.queryEmbedding'],
      [[], "has 0 numbers, but the store's dimension is 1024"],
      [query.slice(1), 'has 1023 numbers'],
      [[...query, 1], 'has 1025 numbers'],
      [query.map(String), 'body.queryEmbedding[0] must be a number, not a string'],
      [query.map((number, index) => (index === 7 ? null : number)), 'body.queryEmbedding[7]'],
      [query.map((number) => [number]), 'not an array'],
      [vectorOf(), 'all zeros'],
    ] as const) {
      expect(await refused(store, 'search', { queryEmbedding })).toContain(reason)
    }
    const text = (number: string) =>
      `{"queryEmbedding": [${vectorOf().fill(1, 1).join()}]}`.replace('0', number)
    expect(await refused(store, 'search', text('1e999'))).toContain('body.queryEmbedding')
    expect(await refused(store, 'search', text('NaN'))).toContain('not valid JSON')
    expect(await refused(store, 'search', undefined)).toContain('body')
    expect(await refused(store, 'search', '[]')).toContain('body')
  })

  it('answers nothing for an empty store, and fails what is wrong there as well', async () => {
    const empty = await stores.store()
    expect(await stores.search(empty, 'search', { queryEmbedding: query })).toEqual([])
    await refused(empty, 'search', { queryEmbedding: [1] })
    await refused(empty, 'search', { queryEmbedding: query, metadataFilter: { $x: 1 } })
  })
})

describe('keyword search', () => {
  const texts = [
    'The quick brown fox jumps over the lazy dog',
    'Quick foxes are brown',
    'A slow turtle, brown as earth',
    'Photosynthesis in plants; chlorophyll and light',
    'Plants grow where light is',
    'Nothing of the kind',
    'AND OR NOT',
  ]
  let store = ''
  const search = (queryText: string, more: object = {}) =>
    stores.search(store, 'keyword-search', { queryText, ...more })

  beforeAll(async () => {
    store = await stores.store()
    await stores.add(
      store,
      texts.map((chunk, index) => ({
        vector: vectorOf(1, index),
        chunk,
        metadata: { i: index, kind: index < 3 ? 'Animal stories' : 'plant', good: index % 2 === 0 },
      })),
    )
  })

  /** BM25 (k1 1.2, b 0.75) of terms in documents that are lists of terms. */
  const bm25 = (documents: readonly (readonly string[])[], query: readonly string[]) => {
    const average = documents.reduce((sum, { length }) => sum + length, 0) / documents.length
    return documents.map((terms) =>
      query.reduce((sum, term) => {
        const holding = documents.filter((other) => other.includes(term)).length
        const count = terms.filter((other) => other === term).length
        const idf = Math.log(1 + (documents.length - holding + 0.5) / (holding + 0.5))
        return sum + (idf * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * terms.length) / average))
      }, 0),
    )
  }

  it('ranks by BM25', async () => {
    const other = await stores.store({ metadata: { language: 'none' } })
    const words = ['red', 'green', 'blue', 'white', 'black']
    const documents = Array.from({ length: 60 }, (_, i) =>
      Array.from({ length: 3 + ((i * 7) % 11) }, (_, at) => words[(i * at + ((i * i) % 5)) % 5] ?? '').concat(
        i % 4 === 0 ? ['rare'] : [],
      ),
    )
    await stores.add(
      other,
      documents.map((terms, index) => ({
        vector: vectorOf(1, index),
        chunk: terms.join(' '),
        metadata: { index },
      })),
    )
    for (const query of [['rare'], ['red', 'blue'], ['rare', 'white', 'green']]) {
      const expected = bm25(documents, query)
      const hits = await stores.search(other, 'keyword-search', {
        queryText: query.join(' '),
        limit: 100,
        fuzzy: false,
      })
      expect(hits).toHaveLength(expected.filter((score) => score > 0).length)
      for (const { score, metadata } of hits) {
        expect(Math.abs(score - (expected[metadata.index as number] ?? 0))).toBeLessThan(1e-4)
      }
      const scores = hits.map(({ score }) => score)
      expect(scores).toEqual(scores.toSorted((a, b) => b - a))
    }
  })

  it('finds words in all their forms, and answers whole items', async () => {
    const [first, ...rest] = await search('FOX')
    expect(chunksOf([first as Hit, ...rest]).sort()).toEqual(texts.slice(0, 2).sort())
    expect(first).toEqual({
      embeddingId: expect.any(String),
      score: expect.any(Number),
      chunk: expect.any(String),
      documentId: expect.any(String),
      sequence: 0,
      metadata: expect.objectContaining({ kind: 'Animal stories' }),
    })
    expect(
      chunksOf(await search('light plants'))
        .slice(0, 2)
        .sort(),
    ).toEqual([texts[3], texts[4]].sort())
    expect(await search('light plants', { limit: 1 })).toHaveLength(1)
  })

  it('finds misspelt words, unless told not to, and never above right ones', async () => {
    expect(chunksOf(await search('photosinthesys'))).toEqual([texts[3]])
    expect(await search('photosinthesys', { fuzzy: false })).toEqual([])
    expect(chunksOf(await search('clorophyll', { fuzzy: true }))).toEqual([texts[3]])
    const other = await stores.store()
    await stores.add(other, [
      { vector: vectorOf(1), chunk: 'planes planes planes' },
      { vector: vectorOf(1), chunk: `plants ${'and more words '.repeat(30)}` },
    ])
    const hits = await stores.search(other, 'keyword-search', { queryText: 'plants' })
    expect(hits[0]?.chunk).toMatch(/^plants/)
    for (const fuzzy of ['true', 1, null]) {
      expect(await refused(store, 'keyword-search', { queryText: 'x', fuzzy })).toContain('body.fuzzy')
    }
  })

  it.each(['the of and', '...', '?!', ' ', '\n', '😀', "'", '"', '\\', '(', '*', ':', '^', '~', '\u202e'])(
    'finds nothing, and fails at nothing, for %j',
    async (queryText) => {
      expect(await search(queryText)).toEqual([])
    },
  )

  it.each([
    '"quick brown fox"',
    'quick AND fox',
    'quick OR fox',
    '+quick -brown',
    'chunk:quick',
    'quick*',
    'quick~2',
    'quick^9',
    '(quick',
    '{"match": {"query": "quick"}}',
    "quick'; DROP TABLE x; --",
    "quick') OR 1=1 --",
    'quick\\',
    '/quick.*/',
    '[quick TO fox]',
  ])('takes %j for words', async (queryText) => {
    expect(chunksOf(await search(queryText, { fuzzy: false })).slice(0, 2)).toEqual(
      expect.arrayContaining([texts[1]]),
    )
    expect(chunksOf(await search(queryText, { fuzzy: false, limit: 100 }))).not.toContain(texts[5])
  })

  it('takes 1 to 10,000 characters', async () => {
    expect(chunksOf(await search(`${'word '.repeat(1999)}fox  `))).toHaveLength(2)
    expect(await search('z'.repeat(10_000))).toEqual([])
    expect((await search(Array.from({ length: 1500 }, (_, i) => `w${i}`).join(' '))).length).toBeLessThan(8)
    for (const queryText of ['', 'x'.repeat(10_001), undefined, null, 5, ['fox']]) {
      expect(await refused(store, 'keyword-search', { queryText })).toContain('body.queryText')
    }
    expect(await refused(store, 'keyword-search', '{"queryText": "a\\u0000b"}')).toContain('NUL')
    for (const limit of [0, 101, 1.5, '5']) {
      expect(await refused(store, 'keyword-search', { queryText: 'fox', limit })).toContain('body.limit')
    }
  })

  it('filters: strings as texts, numbers and booleans exactly', async () => {
    const found = async (metadataFilter: unknown) =>
      (await search('brown light quick', { metadataFilter })).map(({ metadata }) => metadata.i).sort()
    expect(await found({ kind: 'story' })).toEqual([0, 1, 2])
    expect(await found({ kind: 'ANIMALS story' })).toEqual([0, 1, 2])
    expect(await found({ kind: 'animal plant' })).toEqual([])
    expect(await found({ kind: { $eq: 'animal' } })).toEqual([])
    expect(await found({ kind: { $eq: 'Animal stories' } })).toEqual([0, 1, 2])
    expect(await found({ good: true })).toEqual([0, 2, 4])
    expect(await found({ i: 1 })).toEqual([1])
    expect(await found({ i: { $gte: 2 }, good: { $ne: true } })).toEqual([3])
    expect(await found({ missing: 'story' })).toEqual([])
    expect(
      await refused(store, 'keyword-search', { queryText: 'fox', metadataFilter: { i: { $like: 'x' } } }),
    ).toContain('body.metadataFilter.i.$like')
  })

  it('answers nothing for an empty store', async () => {
    expect(await stores.search(await stores.store(), 'keyword-search', { queryText: 'fox' })).toEqual([])
  })
})

describe('keyword-filter search', () => {
  const texts = ['red apple pie', 'green apple', 'red cherry pie', 'plum']
  let store = ''
  const search = async (body: object) =>
    (await stores.search(store, 'keyword-filter-search', { filters: {}, ...body }))
      .map(({ metadata }) => metadata.i as number)
      .sort()

  beforeAll(async () => {
    store = await stores.store()
    await stores.add(
      store,
      texts.map((chunk, i) => ({
        vector: vectorOf(1, i),
        chunk,
        metadata: { i, lang: i % 2 ? 'de' : 'en', n: [i] },
      })),
    )
  })

  it('needs one of the keywords, or all', async () => {
    expect(await search({ keywords: ['apple', 'cherries'] })).toEqual([0, 1, 2])
    expect(await search({ keywords: ['apple', 'cherry'], requireAllKeywords: true })).toEqual([])
    expect(await search({ keywords: ['APPLES', 'red'], requireAllKeywords: true })).toEqual([0])
    expect(await search({ keywords: ['plum'], requireAllKeywords: true })).toEqual([3])
    expect(await search({ keywords: ['nothing'] })).toEqual([])
    expect(await search({ keywords: ['apple', 'apple', 'the'], requireAllKeywords: true })).toEqual([0, 1])
    expect(await search({ keywords: ['the', '...'] })).toEqual([])
    // No misspelt words here.
    expect(await search({ keywords: ['aple', 'chery'] })).toEqual([])
  })

  it('needs all words of a keyword of several', async () => {
    expect(await search({ keywords: ['red pie'] })).toEqual([0, 2])
    expect(await search({ keywords: ['red pie', 'plum'] })).toEqual([0, 2, 3])
    expect(await search({ keywords: ['red pie', 'cherry'], requireAllKeywords: true })).toEqual([2])
  })

  it('needs every filter', async () => {
    const keywords = ['apple', 'pie']
    expect(await search({ keywords, filters: { lang: 'en' } })).toEqual([0, 2])
    expect(await search({ keywords, filters: { lang: 'en', i: { $gt: 0 } } })).toEqual([2])
    // Strict: text as it is, not its words.
    expect(await search({ keywords, filters: { lang: 'EN' } })).toEqual([])
    expect(await search({ keywords, filters: { n: 1 } })).toEqual([1])
    expect(await search({ keywords, filters: { nothing: 1 } })).toEqual([])
    expect(await search({ keywords: ['plum'], filters: { lang: 'en' } })).toEqual([])
  })

  it('ranks by score and keeps to the limit', async () => {
    const hits = await stores.search(store, 'keyword-filter-search', {
      keywords: ['red', 'apple'],
      filters: {},
    })
    expect(hits[0]?.chunk).toBe('red apple pie')
    expect(hits.map(({ score }) => score)).toEqual(hits.map(({ score }) => score).toSorted((a, b) => b - a))
    expect(
      await stores.search(store, 'keyword-filter-search', {
        keywords: ['red', 'apple'],
        filters: {},
        limit: 1,
      }),
    ).toEqual(hits.slice(0, 1))
    expect(
      await stores.search(await stores.store(), 'keyword-filter-search', { keywords: ['red'], filters: {} }),
    ).toEqual([])
  })

  it('refuses what is wrong, and names it', async () => {
    const right = { keywords: ['apple'], filters: {} }
    for (const [field, values] of [
      [
        'keywords',
        [undefined, null, 'apple', [], Array(11).fill('a'), [''], [1], [null], ['k'.repeat(1001)]],
      ],
      ['filters', [undefined, null, [], 'x', 5, { a: { $foo: 1 } }, { $nor: 5 }]],
      ['limit', [0, 101, 1.5, '5']],
      ['requireAllKeywords', ['true', 1, null]],
    ] as const) {
      for (const value of values) {
        expect(await refused(store, 'keyword-filter-search', { ...right, [field]: value })).toContain(
          `body.${field}`,
        )
      }
    }
    expect(await search({ keywords: Array(10).fill('plum') })).toEqual([3])
    expect(await search({ keywords: ["plum' OR 1=1", 'plum) OR (x', '"apple', 'plum*'] })).toEqual([0, 1, 3])
  })
})

describe('what was deleted', () => {
  it('is found by no search any more, indexed or not', async () => {
    const store = await stores.store()
    const items = await stores.add(
      store,
      Array.from({ length: 150 }, (_, index) => ({
        vector: vectorOf(1, index),
        chunk: `tomato number${index}`,
      })),
    )
    await untilAtRest(store)
    const gone = idsOf(items).filter((_, index) => index % 3 !== 0)
    await stores.demand(200, 'DELETE', `${store}/embeddings`, { embeddingIds: gone })
    const fresh = await stores.add(store, [{ vector: vectorOf(1, 0), chunk: 'tomato fresh' }])
    for (const [kind, body] of [
      ['search', { queryEmbedding: vectorOf(1) }],
      ['keyword-search', { queryText: 'tomato number1 number2' }],
      ['keyword-filter-search', { keywords: ['tomato'], filters: {} }],
      ['hybrid-search', { queryText: 'tomato number1', queryEmbedding: vectorOf(1) }],
    ] as const) {
      const found = idsOf(await stores.search(store, kind, { ...body, limit: 100 }))
      expect(found, kind).toHaveLength(51)
      expect(found, kind).toContain(fresh[0]?.embeddingId)
      expect(
        found.filter((id) => gone.includes(id)),
        kind,
      ).toEqual([])
    }
  })

  /** Until the background has indexed what was written. */
  async function untilAtRest(store: string): Promise<void> {
    await expect
      .poll(
        async () =>
          (
            await platform.pool.query(
              'SELECT FROM agents.vector_store_upkeep WHERE vector_store_id = $1 AND dirty_since IS NULL',
              [idOf(store)],
            )
          ).rows.length,
        { timeout: 25_000, interval: 100 },
      )
      .toBe(1)
  }
})

/** What a search says, whatever is asked: 200 or 400. */
const KINDS = ['search', 'keyword-search', 'keyword-filter-search', 'hybrid-search', 'evaluate'] as const

describe('whatever is asked', () => {
  it('is answered or refused, and fails nowhere', async () => {
    const store = await stores.store()
    await stores.add(
      store,
      Array.from({ length: 20 }, (_, i) => ({
        vector: vectorOf(1, i),
        chunk: `apple ${i}`,
        metadata: { i, a: { b: [i] } },
      })),
    )
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom("'", '"', '\\', '*', "') OR 1=1 --", 'a AND b', '\ud800', '😀', '\u200d'),
    )
    const key = fc.oneof(
      fc.constantFrom(
        'i',
        'a',
        'a.b',
        '$and',
        '$or',
        '$nor',
        '$not',
        '$gt',
        '$in',
        '$exists',
        '__proto__',
        '',
      ),
      text,
    )
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.integer(),
        fc.double(),
        fc.boolean(),
        fc.constant(null),
        text,
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(key, tie('value'), { maxKeys: 4 }),
      ),
    }))
    const right = {
      queryText: fc.constant('apple'),
      queryEmbedding: fc.constant(vectorOf(1)),
      keywords: fc.constant(['apple']),
      filters: fc.constant({}),
      relevantIds: fc.constant(['x']),
    }
    const strange = fc.record(
      {
        queryText: text,
        metadataFilter: fc.dictionary(key, value, { maxKeys: 3 }),
        keywords: fc.array(text, { maxLength: 11 }),
        filters: fc.dictionary(key, value, { maxKeys: 3 }),
        relevantIds: fc.array(text, { maxLength: 5 }),
        limit: value,
        vectorWeight: fc.double(),
        scoreThreshold: value,
      },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...KINDS), fc.record(right), strange, async (kind, usual, odd) => {
        const { status, body } = await stores.call('POST', `${store}/${kind}`, { ...usual, ...odd })
        expect([200, 400], JSON.stringify(body)).toContain(status)
      }),
      { numRuns: 400 },
    )
  })
})

describe('when the files of a store are gone', () => {
  it('each search fails by a message of its own that tells no path, and the store can be deleted', async () => {
    const store = await stores.store()
    await stores.add(store, [{ vector: vectorOf(1), chunk: 'apple' }])
    const table = path.join(platform.dataDir, 'retrieval', `${spaceId}_${idOf(store)}.lance`)
    await rm(path.join(table, 'data'), { recursive: true })
    const body = {
      queryText: 'apple',
      queryEmbedding: vectorOf(1),
      keywords: ['apple'],
      filters: {},
      relevantIds: ['x'],
    }
    const codes = [
      'VECTOR_SEARCH',
      'KEYWORD_SEARCH',
      'KEYWORD_FILTER_SEARCH',
      'HYBRID_SEARCH',
      'EVALUATE_SEARCH',
    ]
    for (const [index, kind] of KINDS.entries()) {
      const answer = await stores.call('POST', `${store}/${kind}`, body)
      expect([answer.status, answer.body.code]).toEqual([500, `${codes[index]}_FAILED`])
      expect(answer.body.message).toMatch(/^Failed to (run|evaluate) [a-z ]*search; quote request [\w-]+$/)
    }
    expect((await stores.call('GET', `${store}/embeddings`)).body.code).toBe('LIST_EMBEDDINGS_FAILED')
    expect((await stores.call('DELETE', store)).status).toBe(200)
  })
})
