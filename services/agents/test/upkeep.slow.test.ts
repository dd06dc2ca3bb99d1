import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { randomFrom, startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { connectTo, tableNameOf } from '../src/adapters/lancedb/retrieval.ts'
import { tableSchema } from '../src/adapters/lancedb/table-fields.ts'
import { UpkeepWorker } from '../src/adapters/upkeep/upkeep-worker.ts'
import { noteWrite } from '../src/queries/upkeep.ts'
import type { StoreKey } from '../src/queries/vector-stores.ts'
import { type Engine, engineOf, retrievalFolder } from './engine.ts'
import { DIMENSION, idOf, randomVector, type Stores, storesIn } from './retrieval.ts'

const ROWS = 5200
const CLUSTERS = 60
const quick = { lookAfterMs: 10, restMs: 20 }
const signal = new AbortController().signal

let platform: TestPlatform
let stores: Stores
let engine: Engine
let spaceId = ''

beforeAll(async () => {
  platform = await startTestPlatform()
  const space = await platform.space()
  spaceId = space.spaceId
  stores = storesIn(platform, spaceId, space.apiKey)
  engine = await engineOf(platform)
})
afterAll(async () => {
  await engine?.close()
  await platform?.close()
})

const keyOf = (store: string): StoreKey => ({ spaceId, vectorStoreId: idOf(store) })
const folderOf = (store: string): string =>
  path.join(retrievalFolder(platform), `${tableNameOf(keyOf(store))}.lance`)
const filesOf = (store: string): string[] =>
  readdirSync(folderOf(store), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name))
const countOf = async (store: string): Promise<number> =>
  (await stores.call('GET', store)).body.embeddingCount

const centres = Array.from({ length: CLUSTERS }, (_, n) => randomVector(n))

/** Near one of some centres, as embeddings of texts are. */
function clustered(seed: number): number[] {
  const random = randomFrom(seed + 1_000_000)
  const centre = centres[seed % CLUSTERS] ?? []
  return centre.map((number) => Math.round((number + (random() - 0.5) * 0.7) * 1000) / 1000)
}

const unit = (vector: readonly number[]): Float32Array => {
  const length = Math.hypot(...vector)
  return Float32Array.from(vector, (number) => number / length)
}
const itemOf = (n: number) => ({
  vector: clustered(n),
  chunk: `Item ${n} of group${n % 7}`,
  documentId: `d${n}`,
  metadata: { group: n % 7, n },
})

/** What a search must find, computed in full. */
class Exact {
  readonly #rows = new Map<number, Float32Array>()
  add(n: number): void {
    this.#rows.set(n, unit(clustered(n)))
  }
  delete(n: number): void {
    this.#rows.delete(n)
  }
  top(vector: Float32Array, passes: (n: number) => boolean): string[] {
    const scored: [number, string][] = []
    for (const [n, row] of this.#rows) {
      if (!passes(n)) continue
      let product = 0
      for (let i = 0; i < row.length; i++) product += (row[i] ?? 0) * (vector[i] ?? 0)
      scored.push([product, `d${n}`])
    }
    return scored
      .sort((x, y) => y[0] - x[0])
      .slice(0, 10)
      .map(([, id]) => id)
  }
}

const FILTERS = [
  { body: {}, passes: () => true },
  { body: { metadataFilter: { group: 3 } }, passes: (n: number) => n % 7 === 3 },
  { body: { metadataFilter: { n: { $gte: 4400 } } }, passes: (n: number) => n >= 4400 },
]

/** Share of the exact answers that 50 searches find, in the worst of the ways to filter. */
async function recall(store: string, exact: Exact): Promise<number> {
  const shares = await Promise.all(
    FILTERS.map(async ({ body, passes }, filter) => {
      let [found, wanted] = [0, 0]
      for (let q = filter; q < 50; q += FILTERS.length) {
        const queryEmbedding = clustered(20_000 + q)
        const hits = await stores.search(store, 'search', { queryEmbedding, ...body })
        const ids = new Set(hits.map(({ documentId }) => documentId))
        const right = exact.top(unit(queryEmbedding), passes)
        wanted += right.length
        found += right.filter((id) => ids.has(id)).length
      }
      return wanted === 0 ? 1 : found / wanted
    }),
  )
  return Math.min(...shares)
}

describe('a store that grows and shrinks', () => {
  const exact = new Exact()
  let store = ''
  let ids: string[] = []

  async function add(from: number, to: number): Promise<void> {
    for (let start = from; start < to; start += 650) {
      const numbers = Array.from({ length: Math.min(650, to - start) }, (_, i) => start + i)
      const made = await stores.add(store, numbers.map(itemOf))
      ids.push(...made.map(({ embeddingId }) => embeddingId))
      for (const n of numbers) exact.add(n)
    }
  }
  const indexed = async () => (await engine.state(keyOf(store))).hasVectorIndex

  it('gets its vector index in the background, and answers rightly all the time', async () => {
    store = await stores.store()
    await add(0, 1300)
    expect(await recall(store, exact)).toBe(1)
    await add(1300, ROWS)
    expect(await recall(store, exact)).toBeGreaterThanOrEqual(0.98)
    await expect.poll(indexed, { timeout: 60_000, interval: 100 }).toBe(true)
    expect(await recall(store, exact)).toBeGreaterThanOrEqual(0.98)
  }, 120_000)

  it('lists its rows in the order of their creation all the time', async () => {
    const listed = await stores.list(store)
    expect(listed.map(({ embeddingId }) => embeddingId)).toEqual(ids)
    const page = await stores.list(store, '?limit=5&page=3')
    expect(page.map(({ documentId }) => documentId)).toEqual(['d10', 'd11', 'd12', 'd13', 'd14'])
  })

  it('finds rows that came after the index at once', async () => {
    for (const n of [6001, 6002, 6003]) {
      await add(n, n + 1)
      const near = await stores.search(store, 'search', { queryEmbedding: clustered(n), limit: 1 })
      expect(near.map(({ documentId }) => documentId)).toEqual([`d${n}`])
      const words = await stores.search(store, 'keyword-search', { queryText: `itme ${n}` })
      expect(words[0]?.documentId).toBe(`d${n}`)
    }
    expect(await recall(store, exact)).toBeGreaterThanOrEqual(0.98)
  })

  it('finds nothing of what is deleted, before and after it is tidied', async () => {
    const gone = ids.slice(0, 2600)
    await stores.demand(200, 'DELETE', `${store}/embeddings`, { embeddingIds: gone })
    for (let n = 0; n < 2600; n++) exact.delete(n)
    ids = ids.slice(2600)
    expect(await countOf(store)).toBe(ids.length)
    expect(await recall(store, exact)).toBeGreaterThanOrEqual(0.98)
    await add(7000, 7150)
    const upkeep = engine.upkeep(quick)
    upkeep.noteWrite(keyOf(store), { isSearched: true })
    const tail = async () => (await engine.state(keyOf(store))).vectorTail
    await expect.poll(tail, { timeout: 20_000 }).toBe(0)
    expect((await stores.list(store)).map(({ embeddingId }) => embeddingId)).toEqual(ids)
    expect(await recall(store, exact)).toBeGreaterThanOrEqual(0.98)
  }, 60_000)

  it('gets rid of the files that nobody needs any more', async () => {
    const upkeep = engine.upkeep({ ...quick, pruneAfterSeconds: -1 })
    const before = filesOf(store).length
    await platform.pool.query(
      'update agents.vector_store_upkeep set prune_after = now() where vector_store_id = $1',
      [idOf(store)],
    )
    await expect
      .poll(
        async () => {
          await upkeep.runDue(signal)
          return filesOf(store).length
        },
        { timeout: 30_000 },
      )
      .toBeLessThan(before / 2)
    expect(filesOf(store).filter((file) => file.endsWith('.manifest')).length).toBeLessThanOrEqual(3)
    expect(await recall(store, exact)).toBeGreaterThanOrEqual(0.98)
    expect((await stores.list(store)).length).toBe(ids.length)
  }, 60_000)

  it('can be emptied and used again', async () => {
    await stores.demand(200, 'DELETE', `${store}/embeddings`, { deleteAll: true })
    expect([await countOf(store), await stores.list(store)]).toEqual([0, []])
    const body = { queryEmbedding: clustered(9000), queryText: 'item 9000' }
    for (const kind of ['search', 'keyword-search', 'hybrid-search'])
      expect(await stores.search(store, kind, body)).toEqual([])
    await add(9000, 9010)
    for (const kind of ['search', 'keyword-search', 'hybrid-search'])
      expect((await stores.search(store, kind, body))[0]?.documentId).toBe('d9000')
  })
})

describe('what a crash leaves behind', () => {
  it('a table without its text index gets it when it is next used', async () => {
    for (const use of ['read', 'write']) {
      const store = await stores.store()
      const db = await connectTo(engine.location)
      await db.createEmptyTable(tableNameOf(keyOf(store)), tableSchema(DIMENSION))
      db.close()
      if (use === 'read')
        expect(await stores.search(store, 'keyword-search', { queryText: 'anything' })).toEqual([])
      await stores.add(store, [itemOf(1)])
      const found = await stores.search(store, 'keyword-search', { queryText: 'group1' })
      expect(found.map(({ documentId }) => documentId)).toEqual(['d1'])
    }
  })

  it('files without a store, and stores half deleted, go with the next sweep', async () => {
    const kept = await stores.store()
    await stores.add(kept, [itemOf(1)])
    const stuck = await stores.store()
    await stores.add(stuck, [itemOf(1)])
    const orphan = { spaceId: randomUUID(), vectorStoreId: randomUUID() }
    await engine.retrieval.findOrCreate(orphan, DIMENSION, (work) => work())
    await platform.pool.query(
      "update agents.vector_stores set status = 'deleting' where vector_store_id = $1",
      [idOf(stuck)],
    )
    expect((await stores.call('GET', stuck)).status).toBe(404)
    await engine.upkeep().sweep()
    expect(existsSync(folderOf(stuck))).toBe(false)
    expect(existsSync(path.join(retrievalFolder(platform), `${tableNameOf(orphan)}.lance`))).toBe(false)
    const { rows } = await platform.pool.query(
      'select 1 from agents.vector_stores where vector_store_id = $1',
      [idOf(stuck)],
    )
    expect(rows).toEqual([])
    expect(await countOf(kept)).toBe(1)
  })

  it('the files of a deleted space go with the next sweep', async () => {
    const space = await platform.space()
    const theirs = storesIn(platform, space.spaceId, space.apiKey)
    const store = await theirs.store()
    await theirs.add(store, [itemOf(1)])
    const folder = path.join(
      retrievalFolder(platform),
      `${tableNameOf({ spaceId: space.spaceId, vectorStoreId: idOf(store) })}.lance`,
    )
    expect(existsSync(folder)).toBe(true)
    await platform.pool.query('delete from portal.spaces where space_id = $1', [space.spaceId])
    await engine.upkeep().sweep()
    expect(existsSync(folder)).toBe(false)
  })
})

describe('a store that is deleted while it is in use', () => {
  it('answers what is sent to it as a whole, or says that it is gone', async () => {
    const statuses = new Set<string>()
    for (let round = 0; round < 6; round++) {
      const store = await stores.store()
      await stores.add(
        store,
        Array.from({ length: 30 }, (_, n) => itemOf(n)),
      )
      let isGone = false
      const until = async (what: string, right: number, send: () => ReturnType<Stores['call']>) => {
        while (!isGone) {
          const { status, body } = await send()
          statuses.add(`${what} ${status}`)
          expect([right, 404], `${what}: ${JSON.stringify(body).slice(0, 300)}`).toContain(status)
        }
      }
      const items = {
        embeddings: [clustered(1), clustered(2)],
        documentIds: ['x', 'y'],
        chunks: ['one', 'two'],
      }
      const queryEmbedding = clustered(3)
      const uses = [
        until('add', 201, () => stores.call('POST', `${store}/embeddings`, items)),
        until('add', 201, () => stores.call('POST', `${store}/embeddings`, items)),
        until('list', 200, () => stores.call('GET', `${store}/embeddings`)),
        until('search', 200, () => stores.call('POST', `${store}/search`, { queryEmbedding })),
        until('words', 200, () => stores.call('POST', `${store}/keyword-search`, { queryText: 'itme' })),
        until('hybrid', 200, () =>
          stores.call('POST', `${store}/hybrid-search`, { queryEmbedding, queryText: 'item' }),
        ),
        until('stores', 200, () => stores.call('GET', '')),
        until('remove', 200, () =>
          stores.call('DELETE', `${store}/embeddings`, { embeddingIds: [randomUUID()] }),
        ),
      ]
      await new Promise((resolve) => setTimeout(resolve, 20 + 20 * round))
      await stores.demand(200, 'DELETE', store)
      await new Promise((resolve) => setTimeout(resolve, 50))
      isGone = true
      await Promise.all(uses)
      await engine.upkeep().sweep()
      await expect
        .poll(async () => {
          await engine.upkeep().sweep()
          return existsSync(folderOf(store))
        })
        .toBe(false)
    }
    for (const what of ['add 404', 'list 404', 'search 404', 'words 404', 'hybrid 404', 'remove 404'])
      expect(statuses).toContain(what)
  }, 60_000)

  it('sends a long list to its end, then deletes the files', async () => {
    const store = await stores.store()
    const chunk = 'word '.repeat(4000)
    for (let n = 0; n < 15; n++) {
      await stores.add(
        store,
        Array.from({ length: 100 }, (_, i) => ({ ...itemOf(100 * n + i), chunk })),
      )
    }
    const answer = await fetch(
      `${platform.url}/agents/v1/spaces/${spaceId}/vector-stores${store}/embeddings`,
      {
        headers: { authorization: `Bearer ${platform.superuserClient.token}` },
      },
    )
    expect(answer.status).toBe(200)
    await stores.demand(200, 'DELETE', store)
    expect((await stores.call('GET', store)).status).toBe(404)
    expect(((await answer.json()) as unknown[]).length).toBe(1500)
    await expect.poll(() => existsSync(folderOf(store)), { timeout: 10_000 }).toBe(false)
  }, 60_000)
})

/** Children of this process that look after tables. */
function upkeepProcesses(): string[] {
  return readdirSync('/proc').filter((pid) => {
    if (!/^\d+$/.test(pid)) return false
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      const parent = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]
      const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8')
      return parent === String(process.pid) && command.includes('upkeep/child.ts')
    } catch {
      return false
    }
  })
}

/** Niceness of the threads that the engine has started in a process. */
function enginePriorities(pid: string): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
    const isEngine = /\((?:tokio|lance)/.test(stat)
    return isEngine ? [Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16])] : []
  })
}

describe('a store that is written to and searched', () => {
  it('is known as searched, by whichever process', async () => {
    const store = await stores.store()
    const key = keyOf(store)
    await stores.add(store, [itemOf(1)])
    expect(await noteWrite(engine.db, key)).toEqual({ isSearched: false })
    await stores.search(store, 'keyword-search', { queryText: 'item' })
    await expect.poll(() => noteWrite(engine.db, key)).toEqual({ isSearched: true })
    await platform.pool.query(
      `update agents.vector_store_upkeep set searched_at = now() - interval '11 seconds' where vector_store_id = $1`,
      [key.vectorStoreId],
    )
    expect(await noteWrite(engine.db, key)).toEqual({ isSearched: false })
    expect(await noteWrite(engine.db, { ...key, vectorStoreId: randomUUID() })).toBeUndefined()
  })

  it('takes batches as before, each of them once', async () => {
    const store = await stores.store()
    const searching = stores.search(store, 'search', { queryEmbedding: clustered(1) })
    const batches = Array.from({ length: 6 }, (_, at) => [itemOf(10 * at), itemOf(10 * at + 1)])
    await Promise.all([searching, ...batches.map((items) => stores.add(store, items))])
    expect(await countOf(store)).toBe(12)
  })
})

describe('indexing', () => {
  it('gives way to searches with all its threads, but not while there is no index at all', async () => {
    const store = await stores.store()
    await engine.write(keyOf(store), [itemOf(1)])
    const { location } = engine
    const worker = new UpkeepWorker(location)
    const task = { tableName: tableNameOf(keyOf(store)), upkeep: 'index', pruneBefore: undefined } as const
    const before = new Set(upkeepProcesses())
    const ours = () => upkeepProcesses().filter((pid) => !before.has(pid))
    try {
      await worker.run({ ...task, isUrgent: false })
      expect(ours()).toHaveLength(1)
      // Only threads that come after their maker has given way do so too.
      expect(new Set(enginePriorities(ours()[0] ?? ''))).toEqual(new Set([10]))
      await worker.run({ ...task, isUrgent: true })
      expect(ours().map((pid) => enginePriorities(pid)[0])).toEqual(expect.arrayContaining([0, 10]))
    } finally {
      await worker.close()
    }
    expect(ours()).toEqual([])
    await expect(worker.run({ ...task, isUrgent: true })).rejects.toThrow()
  })
})

describe('closing', () => {
  it('leaves no process behind while an index is being made, and gives the store back', async () => {
    const store = await stores.store()
    const key = keyOf(store)
    for (let n = 0; n < ROWS; n += 650)
      await engine.write(
        key,
        Array.from({ length: 650 }, (_, i) => itemOf(n + i)),
      )
    const upkeep = engine.upkeep(quick)
    upkeep.noteWrite(key, { isSearched: true })
    const before = new Set(upkeepProcesses())
    const ours = () => upkeepProcesses().filter((pid) => !before.has(pid))
    await expect.poll(ours).toHaveLength(1)
    await upkeep.close()
    expect(ours()).toEqual([])
    const { rows } = await platform.pool.query(
      'select holder, dirty_since is not null as open from agents.vector_store_upkeep where vector_store_id = $1',
      [key.vectorStoreId],
    )
    expect(rows).toEqual([{ holder: null, open: true }])
  }, 60_000)
})
