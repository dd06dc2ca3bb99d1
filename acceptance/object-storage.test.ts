import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { finish, freePort, spawnAtrium, stopProcess, waitForOutput } from './processes.ts'
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
import { BUCKET, findWeed, type S3Server, startS3 } from './seaweedfs.ts'

const found = await findWeed()
const missing = 'missing' in found ? found.missing : undefined
if (missing !== undefined) process.stderr.write(`object storage is not tested: ${missing}\n`)

describe.skipIf(missing !== undefined)('embeddings on object storage', () => {
  let s3: S3Server
  let folders: string[] = []
  let env: Record<string, string> = {}
  const processes: ChildProcess[] = []
  /** The same space through two processes. */
  let a: Send
  let b: Send
  let store = ''

  async function start(more: Record<string, string>): Promise<void> {
    const child = spawnAtrium(['up'], { ...env, ...more })
    processes.push(child)
    await waitForOutput(child, /Atrium is ready/)
  }

  beforeAll(async () => {
    if (!('weed' in found)) return
    s3 = await startS3(found.weed)
    folders = await Promise.all([0, 1].map(() => mkdtemp(path.join(tmpdir(), 'atrium-object-storage-'))))
    const [first = '', second = ''] = folders
    const ports = [await freePort(), await freePort()].map(String)
    env = {
      ...s3.env,
      ATRIUM_RETRIEVAL_URI: `s3://${BUCKET}/embeddings`,
      ATRIUM_MASTER_KEY: Buffer.alloc(32, 13).toString('base64'),
      ATRIUM_SANDBOX: 'on',
      ATRIUM_LOG_LEVEL: 'error',
      ATRIUM_BOOTSTRAP_CLIENT_ID: CLIENT.id,
      ATRIUM_BOOTSTRAP_CLIENT_SECRET: CLIENT.secret,
      ATRIUM_PUBLIC_URL: `http://127.0.0.1:${ports[0]}`,
    }
    await start({ ATRIUM_DATA_DIR: first, ATRIUM_PORT: ports[0] ?? '' })
    const databaseUrl = (await readFile(path.join(first, 'postgres.url'), 'utf8')).trim()
    await start({ ATRIUM_DATA_DIR: second, ATRIUM_PORT: ports[1] ?? '', DATABASE_URL: databaseUrl })
    const space = await newSpace(`http://127.0.0.1:${ports[0]}`)
    a = space.send
    b = space.at(`http://127.0.0.1:${ports[1]}`)
  }, 120_000)
  afterAll(async () => {
    for (const child of processes.toReversed()) await stopProcess(child, 'SIGTERM')
    await s3?.close()
    for (const folder of folders) await rm(folder, { recursive: true, force: true })
  }, 60_000)

  const list = (send: Send) => demand<StoredRow[]>(send, 'GET', `${store}/embeddings`)
  const search = async (send: Send, kind: string, body: object) =>
    (await demand<{ results: StoredRow[] }>(send, 'POST', `${store}/${kind}`, body)).results.map(
      ({ embeddingId }) => embeddingId,
    )

  async function everyWayFinds(send: Send, id: string, number: number): Promise<void> {
    const queryEmbedding = vectorOf(number)
    const word = wordOf(number)
    expect((await search(send, 'search', { queryEmbedding }))[0]).toBe(id)
    expect(await search(send, 'keyword-search', { queryText: word })).toEqual([id])
    expect((await search(send, 'keyword-search', { queryText: misspelt(word) }))[0]).toBe(id)
    expect((await search(send, 'hybrid-search', { queryEmbedding, queryText: word }))[0]).toBe(id)
    expect(await search(send, 'keyword-filter-search', { keywords: [word], filters: {} })).toEqual([id])
  }

  it('takes writes of two processes at once, and each finds at once what the other wrote', async () => {
    const { vectorStoreId } = await demand<{ vectorStoreId: string }>(a, 'POST', '', {
      name: 'store',
      embeddingModel: 'titan-text-embeddings-v2',
    })
    store = `/${vectorStoreId}`
    const made = await Promise.all(
      [a, b].flatMap((send, process) =>
        Array.from({ length: 20 }, (_, n) =>
          demand<StoredRow[]>(
            send,
            'POST',
            `${store}/embeddings`,
            batchOf(`${process}-${n}`, 1000 * process + 10 * n, 3),
          ),
        ),
      ),
    )
    const ids = made.flat().map(({ embeddingId }) => embeddingId)
    for (const send of [a, b]) {
      expect((await list(send)).map(({ embeddingId }) => embeddingId).toSorted()).toEqual(ids.toSorted())
    }
    await everyWayFinds(b, made[3]?.[1]?.embeddingId ?? '', 31)
    await everyWayFinds(a, made[27]?.[2]?.embeddingId ?? '', 1072)
    const gone = [made[0]?.[0]?.embeddingId, made[20]?.[0]?.embeddingId]
    const answers = await Promise.all(
      [a, b].map((send, n) =>
        demand<{ deleted: number }>(send, 'DELETE', `${store}/embeddings`, { embeddingIds: [gone[n]] }),
      ),
    )
    expect(answers.map(({ deleted }) => deleted)).toEqual([1, 1])
    const kept = (await list(b)).map(({ embeddingId }) => embeddingId)
    expect([kept.length, kept.filter((id) => gone.includes(id))]).toEqual([118, []])
    expect(await search(a, 'keyword-search', { queryText: wordOf(0), fuzzy: false })).toEqual([])
  }, 120_000)

  it('gets its indexes in the background', async () => {
    const made: StoredRow[] = []
    for (let n = 0; n < 8; n++) {
      const send = n % 2 === 0 ? a : b
      made.push(
        ...(await demand<StoredRow[]>(
          send,
          'POST',
          `${store}/embeddings`,
          batchOf(`many-${n}`, 5000 + 650 * n, 650),
        )),
      )
    }
    // Of words, vectors and metadata.
    const indexes = async () =>
      new Set((await s3.keys('_indices/')).map((key) => key.split('_indices/')[1]?.split('/')[0])).size
    await expect.poll(indexes, { timeout: 120_000, interval: 500 }).toBeGreaterThan(2)
    for (const n of [0, 2600, 5199]) await everyWayFinds(b, made[n]?.embeddingId ?? '', 5000 + n)
    expect((await list(a)).length).toBe(118 + 5200)
  }, 240_000)

  it('holds nothing of a deleted store, and nothing lies in the data folder', async () => {
    await demand(b, 'DELETE', store)
    for (const send of [a, b]) expect((await send('GET', store))?.status).toBe(404)
    await expect.poll(() => s3.keys(store.slice(1)), { timeout: 30_000, interval: 200 }).toEqual([])
    for (const folder of folders) expect(await readdir(folder)).not.toContain('retrieval')
  }, 60_000)

  it('atrium doctor checks the place', async () => {
    const doctor = (more: Record<string, string>) =>
      finish(spawnAtrium(['doctor'], { ...env, ATRIUM_DATA_DIR: folders[0] ?? '', ...more }))
    const healthy = await doctor({})
    expect(healthy.output).toContain(`✓ Embeddings in s3://${BUCKET}/embeddings`)
    const broken = await doctor({ AWS_SECRET_ACCESS_KEY: 'another' })
    expect(broken.code).toBe(1)
    expect(broken.output).toMatch(/✗ .*ATRIUM_RETRIEVAL_URI/)
  }, 60_000)
})
