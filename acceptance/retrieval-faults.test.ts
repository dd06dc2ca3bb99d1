import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { randomFrom } from '@atrium/testing'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { databaseOf, freePort, killTree, spawnAtrium, stopProcess, waitForOutput } from './processes.ts'
import {
  batchOf,
  CLIENT,
  demand,
  misspelt,
  newSpace,
  type Send,
  type StoredRow,
  vectorOf,
  wordOf,
} from './retrieval-client.ts'

const ROUNDS = 20
const ROWS_A_BATCH = 5
/** Enough for an index of vectors, which is then made while the platform is killed. */
const FIRST_ROWS = 5200

let dataDir = ''
let url = ''
let env: Record<string, string> = {}
let running: ChildProcess | undefined
let send: Send
let spaceId = ''
let store = ''

/** What the platform has said, and what it was asked and did not answer. */
const rows = new Map<string, { readonly number: number; readonly documentId: string }>()
const batches = new Map<string, number>()
const unanswered = new Set<string>()
const maybeDeleted = new Set<string>()
const deletedStores = new Set<string>()
const keptStores = new Map<string, number>()
let lastNumber = 1_000_000

async function start(): Promise<void> {
  running = spawnAtrium(['up'], env)
  await waitForOutput(running, /Atrium is ready/)
}

beforeAll(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-faults-'))
  const port = await freePort()
  url = `http://127.0.0.1:${port}`
  env = {
    ATRIUM_DATA_DIR: dataDir,
    ATRIUM_PORT: String(port),
    ATRIUM_SANDBOX: 'on',
    ATRIUM_LOG_LEVEL: 'error',
    ATRIUM_BOOTSTRAP_CLIENT_ID: CLIENT.id,
    ATRIUM_BOOTSTRAP_CLIENT_SECRET: CLIENT.secret,
  }
  await start()
  ;({ send, spaceId } = await newSpace(url))
  store = await newStore()
}, 60_000)
afterAll(async () => {
  await stopProcess(running, 'SIGKILL')
  await rm(dataDir, { recursive: true, force: true })
})

const STORE = { name: 'store', embeddingModel: 'titan-text-embeddings-v2' }

async function newStore(): Promise<string> {
  return `/${(await demand<{ vectorStoreId: string }>(send, 'POST', '', STORE)).vectorStoreId}`
}

async function post(documentId: string, count: number): Promise<boolean> {
  const first = lastNumber + 1
  lastNumber += count
  batches.set(documentId, count)
  unanswered.add(documentId)
  const answer = await send('POST', `${store}/embeddings`, batchOf(documentId, first, count))
  if (answer === undefined) return false
  expect(answer.status, answer.text).toBe(201)
  const made = JSON.parse(answer.text) as StoredRow[]
  for (const [i, { embeddingId }] of made.entries()) rows.set(embeddingId, { number: first + i, documentId })
  unanswered.delete(documentId)
  return true
}

async function write(name: string): Promise<void> {
  for (let n = 0; await post(`${name}-${n}`, ROWS_A_BATCH); n++);
}

/** Deletes the last rows of batches that were acknowledged in earlier rounds. */
async function deleteSome(round: number): Promise<void> {
  const known = [...rows].filter(([, { documentId }]) => !documentId.startsWith(`r${round}-`))
  for (let at = 0; at + 1 < known.length; at += 97) {
    const ids = known.slice(at, at + 2).map(([id]) => id)
    for (const id of ids) maybeDeleted.add(id)
    const answer = await send('DELETE', `${store}/embeddings`, { embeddingIds: ids })
    if (answer === undefined) return
    expect(answer.status, answer.text).toBe(200)
    for (const id of ids) {
      rows.delete(id)
      maybeDeleted.delete(id)
      gone.add(id)
    }
  }
}
const gone = new Set<string>()

async function makeAndDeleteStores(): Promise<void> {
  for (let n = 0; ; n++) {
    const made = await send('POST', '', STORE)
    if (made === undefined) return
    const other = `/${(JSON.parse(made.text) as { vectorStoreId: string }).vectorStoreId}`
    const added = await send('POST', `${other}/embeddings`, batchOf('other', n, 3))
    if (added === undefined) return
    expect(added.status, added.text).toBe(201)
    if (n % 4 === 0) {
      keptStores.set(other, 3)
      continue
    }
    const deleted = await send('DELETE', other)
    if (deleted === undefined) return
    expect(deleted.status, deleted.text).toBe(200)
    deletedStores.add(other)
  }
}

async function searchOn(round: number): Promise<void> {
  for (let n = 0; ; n++) {
    const body = {
      queryEmbedding: vectorOf(1_000_001 + n),
      queryText: `${wordOf(1_000_001 + n)} else`,
      limit: 5,
    }
    const kind = ['search', 'keyword-search', 'hybrid-search'][(n + round) % 3]
    const answer = await send('POST', `${store}/${kind}`, body)
    if (answer === undefined) return
    expect(answer.status, answer.text).toBe(200)
  }
}

/** What must hold after every restart. */
async function check(): Promise<void> {
  const listed = await demand<StoredRow[]>(send, 'GET', `${store}/embeddings`)
  const { embeddingCount } = await demand<{ embeddingCount: number }>(send, 'GET', store)
  expect(embeddingCount).toBe(listed.length)
  const ids = new Set(listed.map(({ embeddingId }) => embeddingId))
  expect(ids.size).toBe(listed.length)
  expect([...rows.keys()].filter((id) => !ids.has(id) && !maybeDeleted.has(id))).toEqual([])
  expect([...gone].filter((id) => ids.has(id))).toEqual([])
  const found = Map.groupBy(listed, ({ documentId }) => documentId)
  for (const documentId of unanswered) {
    const sequences = found.get(documentId)?.map(({ sequence }) => sequence) ?? []
    expect([0, batches.get(documentId)], `${documentId} in part`).toContain(sequences.length)
    unanswered.delete(documentId)
  }
  for (const id of maybeDeleted) {
    if (!ids.has(id)) {
      rows.delete(id)
      gone.add(id)
    }
  }
  maybeDeleted.clear()
}

async function searchesFind(id: string, number: number): Promise<void> {
  const top = async (kind: string, body: object) =>
    (await demand<{ results: StoredRow[] }>(send, 'POST', `${store}/${kind}`, { ...body, limit: 1 }))
      .results[0]?.embeddingId
  const queryText = misspelt(wordOf(number))
  expect(await top('search', { queryEmbedding: vectorOf(number) }), `vector ${number}`).toBe(id)
  expect(await top('keyword-search', { queryText: wordOf(number), fuzzy: false }), `word ${number}`).toBe(id)
  expect(await top('keyword-search', { queryText }), `misspelt ${number}`).toBe(id)
}

const foldersOf = async (): Promise<string[]> =>
  (await readdir(path.join(dataDir, 'retrieval'))).filter((name) => name.startsWith(spaceId))

it('keeps its word about embeddings when the whole process tree is killed again and again', async () => {
  for (let n = 0; n * 650 < FIRST_ROWS; n++) await post(`first-${n}`, 650)
  const random = randomFrom(20_261_121)
  for (let round = 0; round < ROUNDS; round++) {
    const load = [
      ...[0, 1, 2].map((writer) => write(`r${round}-w${writer}`)),
      deleteSome(round),
      makeAndDeleteStores(),
      searchOn(round),
    ]
    // A failed expectation ends the test, not the process.
    const ended = Promise.all(load)
    ended.catch(() => {})
    await new Promise((resolve) => setTimeout(resolve, 100 + random() * 1400))
    const exited = once(running as ChildProcess, 'exit')
    killTree(running?.pid ?? 0)
    await exited
    await ended
    await start()
    await check()
  }
  expect(gone.size).toBeGreaterThan(ROUNDS)
  expect(deletedStores.size).toBeGreaterThan(ROUNDS)

  const sample = [...rows].filter((_, n) => n % Math.ceil(rows.size / 150) === 0)
  for (const [id, { number }] of sample) await searchesFind(id, number)
  for (const other of deletedStores) expect((await send('GET', other))?.status).toBe(404)
  for (const [other, count] of keptStores)
    expect((await demand<{ embeddingCount: number }>(send, 'GET', other)).embeddingCount).toBe(count)
}, 300_000)

it('leaves no files of deleted stores, and ends the index that was being made', async () => {
  const databaseUrl = (await readFile(path.join(dataDir, 'postgres.url'), 'utf8')).trim()
  const database = await databaseOf(databaseUrl)
  const enqueue = (job: string) => database.query('insert into jobs.job (name) values ($1)', [job])
  await enqueue('agents.sweep-vector-stores')
  const listed = await demand<{ vectorStoreId: string }[]>(send, 'GET', '?limit=1000')
  const known = new Set(listed.map(({ vectorStoreId }) => `${spaceId}_${vectorStoreId}.lance`))
  const extra = async () => (await foldersOf()).filter((name) => !known.has(name))
  await expect.poll(extra, { timeout: 30_000, interval: 200 }).toEqual([])
  await post('last', 150)
  await enqueue('agents.tidy-vector-stores')
  const indexes = () =>
    readdir(path.join(dataDir, 'retrieval', `${spaceId}_${store.slice(1)}.lance`, '_indices'))
  // Text, vectors and metadata.
  await expect
    .poll(async () => (await indexes()).length, { timeout: 60_000, interval: 200 })
    .toBeGreaterThan(2)
  await database.close()
  await check()
  for (const [id, { number }] of [...rows].slice(-20)) await searchesFind(id, number)
}, 120_000)
