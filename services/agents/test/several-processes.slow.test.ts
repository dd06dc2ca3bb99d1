import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { randomFrom, startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tableNameOf } from '../src/adapters/lancedb/retrieval.ts'
import type { UpkeepResult, UpkeepTask } from '../src/adapters/upkeep/optimize.ts'
import { UpkeepWorker } from '../src/adapters/upkeep/upkeep-worker.ts'
import { takeLease } from '../src/queries/upkeep.ts'
import type { StoreKey } from '../src/queries/vector-stores.ts'
import { type Engine, engineOf, retrievalFolder } from './engine.ts'
import { idOf, randomVector, type Stores, storesIn } from './retrieval.ts'

let first: TestPlatform
let second: TestPlatform
/** One space's stores as two processes see them. */
let a: Stores
let b: Stores
let engine: Engine
let spaceId = ''

beforeAll(async () => {
  first = await startTestPlatform()
  second = await startTestPlatform({
    env: { DATABASE_URL: first.databaseUrl, ATRIUM_RETRIEVAL_URI: retrievalFolder(first) },
  })
  const space = await first.space()
  spaceId = space.spaceId
  a = storesIn(first, spaceId, space.apiKey)
  b = storesIn(second, spaceId, space.apiKey)
  engine = await engineOf(first)
})
afterAll(async () => {
  await engine?.close()
  await second?.close()
  await first?.close()
})

/** A word of its own for each number. */
function wordOf(seed: number): string {
  const random = randomFrom(seed)
  return Array.from({ length: 10 }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join('')
}
const misspelt = (word: string): string => `${word.slice(0, 4)}${word[5]}${word[4]}${word.slice(6)}`
const itemOf = (seed: number) => ({
  vector: randomVector(seed),
  chunk: `It is about ${wordOf(seed)} and others.`,
  documentId: `doc-${seed}`,
  metadata: { seed },
})

/** The ways to an item, as the ids that each finds. */
async function waysTo(stores: Stores, store: string, seed: number): Promise<Record<string, unknown>> {
  const ids = async (kind: string, body: object) =>
    (await stores.search(store, kind, body)).map(({ documentId }) => documentId)
  const vector = { queryEmbedding: randomVector(seed), limit: 1 }
  const word = wordOf(seed)
  return {
    vector: await ids('search', { ...vector, scoreThreshold: 0.99 }),
    filtered: await ids('search', { ...vector, metadataFilter: { seed } }),
    keyword: await ids('keyword-search', { queryText: word, fuzzy: false }),
    fuzzy: await ids('keyword-search', { queryText: misspelt(word) }),
    filter: await ids('keyword-filter-search', { keywords: [word], filters: { seed } }),
    hybrid: await ids('hybrid-search', { ...vector, queryText: word, scoreThreshold: 0.9 }),
    list: (await stores.list(store, `?documentId=doc-${seed}`)).map(({ documentId }) => documentId),
    count: (await stores.call('GET', store)).body.embeddingCount,
  }
}
const everyWay = (found: readonly string[], count: number) => ({
  ...Object.fromEntries(
    ['vector', 'filtered', 'keyword', 'fuzzy', 'filter', 'hybrid', 'list'].map((way) => [way, found]),
  ),
  count,
})

describe('two processes on one database and one place for embeddings', () => {
  it('find at once, by every way, what the other wrote', async () => {
    const store = await a.store()
    for (let n = 0; n < 8; n++) {
      const [writer, reader] = n % 2 === 0 ? [a, b] : [b, a]
      await writer.add(store, [itemOf(n)])
      expect(await waysTo(reader, store, n), `row ${n}`).toEqual(everyWay([`doc-${n}`], n + 1))
    }
  })

  it('find no more what the other deleted', async () => {
    const store = await a.store()
    const made = await b.add(store, [1, 2, 3, 4].map(itemOf))
    for (const [n, { embeddingId }] of made.entries()) {
      const [writer, reader] = n % 2 === 0 ? [a, b] : [b, a]
      await waysTo(reader, store, n + 1)
      await writer.demand(200, 'DELETE', `${store}/embeddings`, { embeddingIds: [embeddingId] })
      const { filtered, keyword, fuzzy, list, count } = await waysTo(reader, store, n + 1)
      expect({ filtered, keyword, fuzzy, list, count }).toEqual({
        filtered: [],
        keyword: [],
        fuzzy: [],
        list: [],
        count: made.length - n - 1,
      })
    }
  })

  it('know nothing of a store from the moment the other deleted it', async () => {
    const store = await a.store()
    await a.add(store, [itemOf(1)])
    await waysTo(b, store, 1)
    await a.demand(200, 'DELETE', store)
    const queryEmbedding = randomVector(1)
    for (const [method, path, body] of [
      ['GET', '', undefined],
      ['GET', '/embeddings', undefined],
      ['POST', '/embeddings', { embeddings: [queryEmbedding] }],
      ['DELETE', '/embeddings', { deleteAll: true }],
      ['POST', '/search', { queryEmbedding }],
      ['POST', '/keyword-search', { queryText: 'x' }],
      ['POST', '/hybrid-search', { queryText: 'x', queryEmbedding }],
      ['DELETE', '', undefined],
    ] as const) {
      const answer = await b.call(method, `${store}${path}`, body)
      expect([answer.status, answer.body.code], `${method} ${path}`).toEqual([404, 'VECTOR_STORE_NOT_FOUND'])
    }
    const left: string[] = []
    for await (const keys of engine.retrieval.storesWithFiles())
      left.push(...keys.map(({ vectorStoreId }) => vectorStoreId))
    expect(left).not.toContain(idOf(store))
  })

  it('lose and double nothing when both write at once, from the first write on', async () => {
    const store = await a.store()
    const batch = (process: number, n: number) =>
      [0, 1, 2].map((i) => ({ ...itemOf(1000 * process + 10 * n + i), documentId: `${process}-${n}` }))
    const made = await Promise.all(
      [a, b].flatMap((stores, process) =>
        Array.from({ length: 40 }, (_, n) => stores.add(store, batch(process, n))),
      ),
    )
    const wanted = made.flat().map(({ embeddingId }) => embeddingId)
    expect(new Set(wanted).size).toBe(240)
    for (const stores of [a, b]) {
      const listed = await stores.list(store)
      expect(listed.map(({ embeddingId }) => embeddingId).toSorted()).toEqual(wanted.toSorted())
      // Batches stay together.
      const order = listed.map(({ documentId }) => documentId)
      expect(order.filter((id, at) => id !== order[at - 1]).length).toBe(80)
    }
    const gone = wanted.filter((_, n) => n % 2 === 0)
    const deleted = await Promise.all(
      gone.map((id, n) =>
        (n % 4 < 2 ? a : b).demand<{ deleted: number }>(200, 'DELETE', `${store}/embeddings`, {
          embeddingIds: [id],
        }),
      ),
    )
    expect(deleted.map((one) => one.deleted)).toEqual(gone.map(() => 1))
    const kept = new Set(wanted.filter((_, n) => n % 2 === 1))
    expect(new Set((await b.list(store)).map(({ embeddingId }) => embeddingId))).toEqual(kept)
  })
})

describe('upkeep by several processes', () => {
  const quick = { lookAfterMs: 10, restMs: 20 }

  /** Lets its tasks wait until it is told. */
  class SlowUpkeepWorker extends UpkeepWorker {
    readonly begun: string[] = []
    readonly go = Promise.withResolvers<void>()
    override async run(task: UpkeepTask) {
      this.begun.push(task.tableName)
      await this.go.promise
      return super.run(task)
    }
  }

  async function storeWithTail(): Promise<StoreKey> {
    const key = { spaceId, vectorStoreId: idOf(await a.store()) }
    const items = Array.from({ length: 150 }, (_, n) => itemOf(n))
    await engine.write(key, items)
    return key
  }

  it('is done by one of them, and the other sees to what came meanwhile', async () => {
    const key = await storeWithTail()
    const workers = [new SlowUpkeepWorker(engine.location), new SlowUpkeepWorker(engine.location)]
    const upkeeps = workers.map((worker) => engine.upkeep(quick, worker))
    for (const upkeep of upkeeps) upkeep.noteWrite(key, { isSearched: true })
    await expect.poll(() => workers.flatMap(({ begun }) => begun).length).toBeGreaterThan(0)
    const busy = workers.findIndex(({ begun }) => begun.length > 0)
    const [holder, other] = busy === 0 ? workers : workers.toReversed()
    await engine.write(key, [itemOf(500)])
    upkeeps[1 - busy]?.noteWrite(key, { isSearched: true })
    await upkeeps[1 - busy]?.runDue(new AbortController().signal)
    expect(holder?.begun.length).toBe(1)
    expect(other?.begun.length).toBe(0)
    other?.go.resolve()
    holder?.go.resolve()
    // The write that came while the holder was at it stays noted until somebody has looked at it as well.
    await expect
      .poll(
        async () =>
          (
            await first.pool.query(
              'select holder, dirty_since from agents.vector_store_upkeep where vector_store_id = $1',
              [key.vectorStoreId],
            )
          ).rows[0],
        { timeout: 20_000 },
      )
      .toEqual({ holder: null, dirty_since: null })
    expect((await engine.state(key)).textTail).toBeLessThan(100)
  })

  it('leaves no file of what it was at when the store was deleted through another', async () => {
    const key = await storeWithTail()
    const folder = path.join(retrievalFolder(first), `${tableNameOf(key)}.lance`)
    class LateUpkeepWorker extends SlowUpkeepWorker {
      override async run(task: UpkeepTask): Promise<UpkeepResult> {
        await super.run(task).catch(() => {})
        await mkdir(path.join(folder, '_indices'), { recursive: true })
        await writeFile(path.join(folder, '_indices', 'part'), 'an index')
        this.begun.push('written')
        throw new Error('the table is gone')
      }
    }
    const worker = new LateUpkeepWorker(engine.location)
    engine.upkeep(quick, worker).noteWrite(key, { isSearched: true })
    await expect.poll(() => worker.begun.length).toBe(1)
    await b.demand(200, 'DELETE', `/${key.vectorStoreId}`)
    await expect.poll(() => existsSync(folder)).toBe(false)
    worker.go.resolve()
    await expect.poll(() => worker.begun.length, { timeout: 20_000 }).toBe(2)
    await expect.poll(() => existsSync(folder)).toBe(false)
  })

  it('goes on after a holder has died', async () => {
    const key = await storeWithTail()
    expect(await takeLease(engine.db, key, randomUUID(), 1)).toBeDefined()
    expect(await takeLease(engine.db, key, randomUUID(), 1)).toBeUndefined()
    const upkeep = engine.upkeep(quick)
    await expect
      .poll(
        async () => {
          await upkeep.runDue(new AbortController().signal)
          return (await engine.state(key)).textTail
        },
        { timeout: 20_000, interval: 200 },
      )
      .toBe(0)
  })

  it('deletes no files where another database has some as well', async () => {
    const orphan = { spaceId, vectorStoreId: randomUUID() }
    const upkeep = engine.upkeep()
    await upkeep.sweep()
    const other = randomUUID()
    await engine.retrieval.createMark(other)
    await engine.retrieval.findOrCreate(orphan, 1024, (work) => work())
    await upkeep.sweep()
    expect(await engine.retrieval.find(orphan)).toBeDefined()
  })
})
