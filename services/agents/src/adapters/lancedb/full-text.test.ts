import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Connection, connect, type Table } from '@lancedb/lancedb'
import { Field, Schema, Utf8 } from 'apache-arrow'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { analyse, analyseQuery } from '../../domain/keyword/analyse.ts'
import type { Expansion } from '../../domain/keyword/similar.ts'
import type { KeywordPlan } from '../../domain/keyword/vocabulary.ts'
import { scoreByAddresses, searchAllKeywords, searchKeywords } from './full-text.ts'
import { createFullTextIndex, fullTextState, hasFullTextIndex } from './full-text-index.ts'
import { ADDRESS, type Hit } from './shown-rows.ts'
import { analyseChunks, TEXT_FIELDS } from './text-column.ts'

let folder = ''
let lance: Connection
let table: Table
let made = 0

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-full-text-'))
  lance = await connect(folder, { readConsistencyInterval: 0 })
})
beforeEach(async () => {
  const schema = new Schema([new Field('embedding_id', new Utf8(), false), ...TEXT_FIELDS])
  table = await lance.createEmptyTable(`t${++made}`, schema)
  await createFullTextIndex(table)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function add(chunks: Readonly<Record<string, string>>): Promise<void> {
  const { terms } = analyseChunks(Object.values(chunks), 'english')
  await table.add(Object.keys(chunks).map((id, i) => ({ embedding_id: id, terms: terms[i] ?? '' })))
}

const plan = (query: string, expansions: Expansion[] = [], similar: Expansion[] = []): KeywordPlan => ({
  exact: [...new Set(analyseQuery(query, 'english', 1024).values())],
  expansions,
  similar: async () => similar,
})

/** The embeddings at the addresses of hits, in their order. */
async function idsOf(search: Hit[] | Promise<Hit[]>): Promise<string[]> {
  const rows: { embedding_id: string; [ADDRESS]: bigint }[] = await table
    .query()
    .select(['embedding_id'])
    .withRowId()
    .toArray()
  const ids = new Map(rows.map((row) => [row[ADDRESS], row.embedding_id]))
  return (await search).map(({ address }) => ids.get(address) ?? 'nowhere')
}

/** BM25 by its definition. */
function reference(chunks: Readonly<Record<string, string>>, query: string): Map<string, number> {
  const rows = Object.entries(chunks).map(([id, text]) => ({ id, terms: analyse(text, 'english') }))
  const average = rows.reduce((sum, { terms }) => sum + terms.length, 0) / rows.length
  const scores = new Map<string, number>()
  for (const term of plan(query).exact) {
    const holding = rows.filter(({ terms }) => terms.includes(term)).length
    const idf = Math.log(1 + (rows.length - holding + 0.5) / (holding + 0.5))
    for (const { id, terms } of rows) {
      const times = terms.filter((other) => other === term).length
      const share = (times * 2.2) / (times + 1.2 * (0.25 + (0.75 * terms.length) / average))
      if (times > 0) scores.set(id, (scores.get(id) ?? 0) + idf * share)
    }
  }
  return scores
}

const VOCABULARY = 'cell protein gene tumor mouse liver kinase receptor binding growth'.split(' ')
const corpus = (from: number, to: number): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: to - from }, (_, k) => {
      const i = from + k
      const length = 3 + ((i * 7) % 11)
      return [`e${i}`, Array.from({ length }, (_, j) => VOCABULARY[(i * (j + 3) + j * j) % 10]).join(' ')]
    }),
  )

async function expectScores(chunks: Readonly<Record<string, string>>, query: string): Promise<void> {
  const wanted = reference(chunks, query)
  const hits = await searchKeywords(table, plan(query), { limit: 1000 })
  const ids = await idsOf(hits)
  expect(new Set(ids)).toEqual(new Set(wanted.keys()))
  for (const [at, { score }] of hits.entries()) expect(score).toBeCloseTo(wanted.get(ids[at] ?? '') ?? 0, 4)
  expect(hits.map(({ score }) => score)).toEqual(hits.map(({ score }) => score).toSorted((a, b) => b - a))
}

/** Takes rows into the index. @returns whether there were any */
async function indexRest(): Promise<boolean> {
  const { unindexed } = await fullTextState(table)
  if (unindexed > 0) await table.optimize()
  return unindexed > 0
}

describe('scores are BM25', () => {
  it.each([1, 2, 5])('in a store of %i rows, indexed or not', async (rows) => {
    await add(corpus(0, rows))
    await expectScores(corpus(0, rows), 'protein cell growth')
    expect(await indexRest()).toBe(true)
    await expectScores(corpus(0, rows), 'protein cell growth')
  })

  it('after several additions, deletions and compactions', async () => {
    for (const from of [0, 40, 80]) {
      await add(corpus(from, from + 40))
      await indexRest()
    }
    await expectScores(corpus(0, 120), 'tumor binding')
    await table.delete("embedding_id IN ('e0', 'e1', 'e50')")
    await indexRest()
    await table.optimize()
    const { e0: _0, e1: _1, e50: _2, ...left } = corpus(0, 120)
    await expectScores(left, 'tumor binding')
  })
})

describe('searchKeywords', () => {
  it('finds rows that were only just written, beside indexed ones', async () => {
    await add(corpus(0, 50))
    await indexRest()
    await add({ new: 'zebra', older: 'cell cell zebra' })
    expect(await fullTextState(table)).toEqual({ rows: 52, unindexed: 2 })
    expect(await idsOf(searchKeywords(table, plan('zebra'), { limit: 10 }))).toEqual(['new', 'older'])
  })

  it('has nothing in an empty store, for empty chunks and for queries without words', async () => {
    expect(await searchKeywords(table, plan('cell'), { limit: 10 })).toEqual([])
    await add({ a: '', b: '😀', c: 'the' })
    for (const query of ['cell', 'the of', '!!!', '😀', '']) {
      expect(await searchKeywords(table, plan(query), { limit: 10 })).toEqual([])
    }
  })

  it('never ranks a row that only resembles the query above one that matches it', async () => {
    await add({
      exact: `rare ${'filler '.repeat(200)}`,
      both: 'rare protein',
      like: 'protein protein protein',
    })
    const expansion = { terms: ['protein'], weight: 0.9 }
    const hits = await searchKeywords(table, plan('rare protien', [expansion]), { limit: 10 })
    expect(await idsOf(hits)).toEqual(['both', 'exact', 'like'])
    expect(hits[2]?.score).toBeLessThanOrEqual(hits[1]?.score ?? 0)
    expect(
      await idsOf(searchKeywords(table, plan('rare protien', [expansion]), { limit: 10, tiers: false })),
    ).toEqual(['both', 'like', 'exact'])
  })

  it('fills up with rows of similar words, and only then asks for them', async () => {
    await add({ a: 'protein', b: 'protien', c: 'other' })
    const similar = [{ terms: ['protien'], weight: 0.9 }]
    expect(await idsOf(searchKeywords(table, plan('protein', [], similar), { limit: 10 }))).toEqual([
      'a',
      'b',
    ])
    const never = { ...plan('protein'), similar: () => Promise.reject(new Error('not needed')) }
    expect(await idsOf(searchKeywords(table, never, { limit: 1 }))).toEqual(['a'])
  })

  it('keeps to a condition, also when few rows fulfil it', async () => {
    await add(corpus(0, 400))
    for (const _ of ['not indexed', 'indexed']) {
      const hits = await searchKeywords(table, plan('protein cell'), {
        limit: 10,
        where: "embedding_id IN ('e7', 'e300')",
      })
      expect(new Set(await idsOf(hits))).toEqual(new Set(['e7', 'e300']))
      await indexRest()
    }
  })

  it('takes no part of a query for syntax', async () => {
    await add({ a: 'alpha beta', b: 'gamma' })
    for (const query of [
      '+gamma -alpha',
      '"alpha gamma"',
      'terms:alpha AND gamma',
      "alpha' OR 1=1 -- gamma",
    ]) {
      expect(new Set(await idsOf(searchKeywords(table, plan(query), { limit: 10 })))).toEqual(
        new Set(['a', 'b']),
      )
    }
  })

  it('searches for a thousand words at once, and for long ones', async () => {
    await add({ a: `needle ${'x'.repeat(3000)}` })
    const query = `${Array.from({ length: 1500 }, (_, i) => `w${i}`).join(' ')} needle`
    expect(await searchKeywords(table, plan(query), { limit: 10 })).toEqual([])
    expect(await idsOf(searchKeywords(table, plan(`${'x'.repeat(5000)}`), { limit: 10 }))).toEqual(['a'])
  })
})

describe('scoreByAddresses', () => {
  it('has the scores of the search, indexed or not', async () => {
    await add(corpus(0, 60))
    const expansions = [{ terms: ['kinas'], weight: 0.5 }]
    for (const _ of ['not indexed', 'indexed', 'partly']) {
      const hits = await searchKeywords(table, plan('cell growth', expansions), { limit: 100, tiers: false })
      const some = hits.filter((_, i) => i % 3 === 0)
      const scores = await scoreByAddresses(table, plan('cell growth', expansions), [
        ...some.map(({ address }) => address),
        // No row has these.
        2n ** 40n,
        2n ** 60n,
      ])
      expect(scores.size).toBe(some.length)
      for (const { address, score } of some) expect(scores.get(address)).toBeCloseTo(score, 5)
      if (!(await indexRest())) await add(corpus(60, 70))
    }
    expect(await scoreByAddresses(table, plan('zebra'), [1n])).toEqual(new Map())
    expect(await scoreByAddresses(table, plan('cell'), [])).toEqual(new Map())
  })
})

describe('searchAllKeywords', () => {
  const search = async (keywords: string[], requireAll: boolean) =>
    (await idsOf(searchAllKeywords(table, keywords, 'english', { limit: 10, requireAll }))).toSorted()

  it('needs any or all of the keywords, each with all of its words', async () => {
    await add({ a: 'neural networks', b: 'neural cells', c: 'network of cells', d: 'other' })
    expect(await search(['neural network', 'cell'], false)).toEqual(['a', 'b', 'c'])
    expect(await search(['neural', 'cells'], true)).toEqual(['b'])
    expect(await search(['neural network', 'cell'], true)).toEqual([])
    expect(await search(['nueral'], false)).toEqual([])
  })

  it('ignores keywords without words and repeated ones', async () => {
    await add({ a: 'neural networks', b: 'neural cells' })
    expect(await search(['the', '!!', 'cell'], true)).toEqual(['b'])
    expect(await search(['the'], true)).toEqual([])
    const [once] = await searchAllKeywords(table, ['cell'], 'english', { limit: 1, requireAll: false })
    const [twice] = await searchAllKeywords(table, ['cell', 'Cells'], 'english', {
      limit: 1,
      requireAll: false,
    })
    expect(twice?.score).toBeCloseTo(once?.score ?? 0)
  })
})

it('indexes what is not indexed yet', async () => {
  expect(await hasFullTextIndex(table)).toBe(true)
  expect(await indexRest()).toBe(false)
  await add(corpus(0, 600))
  expect(await fullTextState(table)).toEqual({ rows: 600, unindexed: 600 })
  expect(await indexRest()).toBe(true)
  expect(await fullTextState(table)).toEqual({ rows: 600, unindexed: 0 })
})
