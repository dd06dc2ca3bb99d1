import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Connection, connect, type Table } from '@lancedb/lancedb'
import { Field, Schema, Utf8 } from 'apache-arrow'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Expansion } from '../../domain/keyword/similar.ts'
import type { KeywordPlan } from '../../domain/keyword/vocabulary.ts'
import { scoreByAddresses, searchKeywords } from './full-text.ts'
import { createFullTextIndex, fullTextState } from './full-text-index.ts'
import { ADDRESS, type Hit } from './shown-rows.ts'
import { TEXT_FIELDS } from './text-column.ts'
import { type KnownTail, TextTails } from './text-tails.ts'

let folder = ''
let lance: Connection
let table: Table
let tails: TextTails
let texts: Map<string, string>
let made = 0

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-text-tails-'))
  lance = await connect(folder, { readConsistencyInterval: 0 })
})
beforeEach(async () => {
  const schema = new Schema([new Field('id', new Utf8(), false), ...TEXT_FIELDS])
  table = await lance.createEmptyTable(`t${++made}`, schema)
  await createFullTextIndex(table)
  tails = new TextTails()
  texts = new Map()
})
afterAll(() => rm(folder, { recursive: true, force: true }))

let state = 5
/** From 0 to 1, the same in each run. */
function random(): number {
  state = (state * 48_271) % 2_147_483_647
  return state / 2_147_483_647
}
/** 5 to 40 words of 200, some of them much more often. */
const text = (): string =>
  Array.from({ length: 5 + Math.floor(36 * random()) }, () => `w${Math.floor(200 * random() ** 2)}`).join(' ')

async function add(rows: Readonly<Record<string, string>>, to = table): Promise<void> {
  await to.add(Object.entries(rows).map(([id, terms]) => ({ id, terms })))
  for (const [id, terms] of Object.entries(rows)) texts.set(id, terms)
}
const some = (prefix: string, count: number): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`${prefix}${n}`, text()]))

async function remove(...ids: string[]): Promise<void> {
  await table.delete(`id IN (${ids.map((id) => `'${id}'`).join(', ')})`)
  for (const id of ids) texts.delete(id)
}

/** The tail, once it was read. */
async function known(of = table): Promise<KnownTail> {
  return expect
    .poll(() => tails.at(of), { timeout: 20_000, interval: 5 })
    .toBeDefined()
    .then(() => tails.at(of) as Promise<KnownTail>)
}

const plan = (exact: string[], expansions: Expansion[] = [], similar: Expansion[] = []): KeywordPlan => ({
  exact,
  expansions,
  similar: async () => similar,
})

async function byId(hits: Hit[] | Promise<Hit[]>): Promise<[string, number][]> {
  const rows: { id: string; [ADDRESS]: bigint }[] = await table.query().select(['id']).withRowId().toArray()
  const ids = new Map(rows.map((row) => [row[ADDRESS], row.id]))
  return (await hits).map(({ address, score }) => [ids.get(address) ?? 'nowhere', score])
}

/** BM25 of all rows, by its definition, with the statistics of the given ones. */
function reference(terms: readonly string[], indexed: readonly string[]): Map<string, number> {
  const rows = indexed.map((id) => (texts.get(id) as string).split(' '))
  const mean = rows.reduce((sum, words) => sum + words.length, 0) / rows.length
  const scores = new Map<string, number>()
  for (const term of terms) {
    const holding = rows.filter((words) => words.includes(term)).length
    const idf = Math.log(1 + (rows.length - holding + 0.5) / (holding + 0.5))
    for (const [id, joined] of texts) {
      const words = joined.split(' ')
      const times = words.filter((word) => word === term).length
      const share = (times * 2.2) / (times + 1.2 * (0.25 + (0.75 * words.length) / mean))
      if (times > 0) scores.set(id, (scores.get(id) ?? 0) + idf * share)
    }
  }
  return scores
}

/** Searches with the tail in memory, and compares every score. */
async function expectScores(terms: string[], indexed: readonly string[]): Promise<void> {
  await known()
  const wanted = reference(terms, indexed)
  const hits = await byId(searchKeywords(table, plan(terms), { limit: 2000, tails }))
  expect(new Set(hits.map(([id]) => id))).toEqual(new Set(wanted.keys()))
  for (const [id, score] of hits) expect(score).toBeCloseTo(wanted.get(id) ?? 0, 3)
  expect(hits.map(([, score]) => score)).toEqual(hits.map(([, score]) => score).toSorted((a, b) => b - a))
}

/** 300 indexed rows and 100 that are not. */
async function withTail(): Promise<string[]> {
  await add(some('old', 300))
  await table.optimize()
  const indexed = [...texts.keys()]
  await add(some('new', 60))
  await add(some('newer', 40))
  return indexed
}

describe('rows that are not indexed', () => {
  it('are scored in memory as the index would', async () => {
    const indexed = await withTail()
    const { tail } = await known()
    expect(tail.rows).toBe(100)
    await expectScores(['w0', 'w3', 'w150'], indexed)
    await expectScores(['w199', 'w7'], indexed)
  })

  it('are the best rows there, whatever the limit', async () => {
    await withTail()
    await known()
    const all = await searchKeywords(table, plan(['w1', 'w50']), { limit: 1000, tails })
    for (const limit of [1, 7, 40]) {
      expect(await searchKeywords(table, plan(['w1', 'w50']), { limit, tails })).toEqual(all.slice(0, limit))
    }
  })

  it('are in memory as they are after each write', async () => {
    const indexed = await withTail()
    await known()
    await add(some('newest', 20))
    await remove('new3', 'newest7')
    await expectScores(['w0', 'w9'], indexed)
    expect((await known()).tail.rows).toBe(118)
    await remove('old5')
    const found = (await byId(searchKeywords(table, plan(['w0', 'w9']), { limit: 2000, tails }))).map(
      ([id]) => id,
    )
    expect(found).not.toContain('old5')
    await add({ word: 'unheard of' })
    await known()
    expect(
      (await byId(searchKeywords(table, plan(['unheard']), { limit: 5, tails }))).map(([id]) => id),
    ).toEqual(['word'])
  })

  it('are those that another process writes as well', async () => {
    await withTail()
    await known()
    const other = await connect(folder, { readConsistencyInterval: 0 })
    await add({ theirs: 'w0 elsewhere' }, await other.openTable(`t${made}`))
    const find = () => byId(searchKeywords(table, plan(['elsewhere']), { limit: 5, tails }))
    expect((await find()).map(([id]) => id)).toEqual(['theirs'])
    expect((await known()).tail.rows).toBe(101)
    expect((await find()).map(([id]) => id)).toEqual(['theirs'])
    other.close()
  })

  it('are none once they are indexed', async () => {
    await withTail()
    await known()
    await table.optimize()
    expect((await known()).tail.isEmpty).toBe(true)
    await expectScores(['w0', 'w3'], [...texts.keys()])
  })
})

describe('what is left to the engine', () => {
  const isLeft = async (): Promise<boolean> => {
    for (let n = 0; n < 20; n++) {
      if ((await tails.at(table)) !== undefined) return false
      await delay(10)
    }
    return true
  }

  it('is a tail that is small, or larger than the index', async () => {
    await add(some('old', 100))
    expect(await isLeft()).toBe(true)
    await table.optimize()
    await add(some('few', 63))
    expect(await isLeft()).toBe(true)
    await add(some('one', 1))
    expect((await known()).tail.rows).toBe(64)
    await add(some('more', 37))
    expect(await isLeft()).toBe(true)
  })

  it('is a tail with too many words for memory', async () => {
    await add(some('old', 200))
    await table.optimize()
    const long = Array.from({ length: 8000 }, (_, n) => `x${n}`).join(' ')
    await add(Object.fromEntries(Array.from({ length: 70 }, (_, n) => [`long${n}`, long])))
    expect(await isLeft()).toBe(true)
  })

  it('is a tail whose texts are too long for memory', async () => {
    await add(some('old', 200))
    await table.optimize()
    await add({ ...some('new', 70), huge: 'w '.repeat(4_100_000).trim() })
    expect(await isLeft()).toBe(true)
  })

  it('is a tail with rows whose index cannot be told, for they have no words', async () => {
    await add(some('old', 200))
    await table.optimize()
    await add(some('new', 70))
    await add({ empty: '' })
    expect(await isLeft()).toBe(true)
  })

  it('is a search with a condition', async () => {
    await withTail()
    await known()
    const where = "id LIKE 'new%'"
    const hits = await byId(searchKeywords(table, plan(['w0']), { limit: 1000, tails, where }))
    const wanted = [...texts].filter(([id, words]) => id.startsWith('new') && words.split(' ').includes('w0'))
    expect(new Set(hits.map(([id]) => id))).toEqual(new Set(wanted.map(([id]) => id)))
  })
})

describe('searches of rows that are not indexed', () => {
  it('do with similar words as with the engine alone', async () => {
    await withTail()
    await known()
    const expansion = { terms: ['w20', 'w21'], weight: 0.4 }
    const similar = [{ terms: ['w180'], weight: 0.5 }]
    for (const asked of [
      plan(['w5'], [expansion]),
      plan(['w199'], [expansion], similar),
      plan(['nothing'], [], similar),
      plan(['nothing'], [expansion], similar),
    ]) {
      for (const tiers of [true, false]) {
        const ours = await byId(searchKeywords(table, asked, { limit: 1000, tiers, tails }))
        const engines = new Map(await byId(searchKeywords(table, asked, { limit: 1000, tiers })))
        expect(new Set(ours.map(([id]) => id))).toEqual(new Set(engines.keys()))
        for (const [id, score] of ours) expect(score / (engines.get(id) ?? 0)).toBeCloseTo(1, 0)
      }
    }
  })

  it('give single rows the same scores as searches of all', async () => {
    await withTail()
    await known()
    const asked = plan(['w2', 'w30'], [{ terms: ['w9'], weight: 0.3 }])
    const hits = await searchKeywords(table, asked, { limit: 1000, tiers: false, tails })
    const chosen = hits.filter((_, n) => n % 3 === 0)
    const scores = await scoreByAddresses(
      table,
      asked,
      chosen.map(({ address }) => address),
      { tails },
    )
    expect(scores.size).toBe(chosen.length)
    for (const { address, score } of chosen) expect(scores.get(address)).toBeCloseTo(score, 4)
  })

  it('leave out terms that the index leaves out for their length', async () => {
    const indexed = await withTail()
    await add({ long: `w0 ${'x'.repeat(5000)} w1` })
    await known()
    expect(await searchKeywords(table, plan(['x'.repeat(5000)]), { limit: 5, tails })).toEqual([])
    texts.set('long', 'w0 w1')
    await expectScores(['w0', 'w1'], indexed)
  })

  it('find everything, once, while rows come, go, move and are indexed', async () => {
    await add(some('old', 1500))
    await table.optimize()
    let isOver = false
    const there = new Set<string>()
    const gone = new Set<string>()
    const writer = (async () => {
      for (let n = 0; n < 50; n++) {
        // Long enough for the tail to be read, also on a busy machine.
        await delay(n % 10 === 9 ? 400 : 80 * random())
        const names = Array.from({ length: 1 + (n % 30) }, (_, k) => `u${n}x${k}`)
        await add(Object.fromEntries(names.map((name) => [name, `${name} ${text()}`])))
        for (const name of names) there.add(name)
        if (n % 5 === 4) {
          const [name = ''] = there
          there.delete(name)
          await table.delete(`id = '${name}'`)
          gone.add(name)
        }
      }
      isOver = true
    })()
    const indexer = (async () => {
      while (!isOver) {
        const { unindexed } = await fullTextState(table)
        if (unindexed > 150) await table.optimize().catch(() => {})
        else await delay(5)
      }
    })()
    let remembered = 0
    for (let asked = 0; !isOver; asked++) {
      const tail = await tails.at(table)
      if (tail !== undefined && !tail.tail.isEmpty) remembered++
      const last = [...there].at(-1 - (asked % 40))
      if (last !== undefined) {
        const found = await searchKeywords(table, plan([last]), { limit: 3, tails })
        const beside = await searchKeywords(table, plan([last, 'w0']), { limit: 3, tails })
        // It may have been deleted meanwhile.
        if (there.has(last)) {
          expect(new Set(await byId(found)).size, last).toBe(1)
          expect(beside.length, last).toBe(3)
        }
      }
      const deleted = [...gone].at(-1)
      if (deleted !== undefined) {
        expect(await searchKeywords(table, plan([deleted]), { limit: 3, tails })).toEqual([])
      }
    }
    await Promise.all([writer, indexer])
    expect(remembered).toBeGreaterThan(0)
  }, 60_000)
})
