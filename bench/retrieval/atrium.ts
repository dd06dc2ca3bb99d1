// The platform as a process of its own, a store in it, and what the benchmark asks of it.
import type { ChildProcess } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { freePort } from '@atrium/testing'
import { connect } from '@lancedb/lancedb'
import { startPlatform, stop, usageOf } from '../gateway/processes.ts'
import { type Post, post, type Target } from './client.ts'
import { BATCH, DIMENSION, metadataOf, type Selection, textOf } from './data.ts'

export interface Store {
  /** Its folder and table, to call LanceDB on directly. */
  readonly folder: string
  readonly table: string
  addBatch(vectors: Float32Array, from: number): Post
  query(vector: Float32Array, filter: Selection['filter']): Post
  keywordQuery(text: string): Post
  hybridQuery(vector: Float32Array, text: string): Post
  rowsIn(answer: Buffer): number[]
  /** Waits until the background work is done; seconds that it took. */
  atRest(): Promise<number>
}

export interface Atrium {
  readonly target: Target
  readonly process: ChildProcess
  createStore(): Promise<Store>
  stop(): Promise<void>
}

export async function startAtrium(dataDir: string): Promise<Atrium> {
  const platform = await startPlatform(dataDir, await freePort())
  const target: Target = {
    host: '127.0.0.1',
    port: platform.port,
    headers: { authorization: `Bearer ${platform.apiKey}` },
  }
  const stores = `/agents/v1/spaces/${platform.spaceId}/vector-stores`
  const folder = path.join(dataDir, 'retrieval')
  return {
    target,
    process: platform.process,
    async createStore() {
      const made = await post(target, { path: stores, body: Buffer.from('{"name":"bench"}') })
      const { vectorStoreId } = JSON.parse(made.toString('utf8')) as { vectorStoreId: string }
      const table = `${platform.spaceId}_${vectorStoreId}`
      return storeAt(`${stores}/${vectorStoreId}`, folder, table, platform.process)
    },
    stop: () => stop(platform.process),
  }
}

const storeAt = (at: string, folder: string, table: string, process: ChildProcess): Store => ({
  folder,
  table,
  addBatch: (vectors, from) => ({ path: `${at}/embeddings`, body: addBody(vectors, from) }),
  query: (vector, filter) => ({
    path: `${at}/search`,
    body: Buffer.from(
      JSON.stringify({
        queryEmbedding: Array.from(vector),
        ...(filter === undefined ? {} : { metadataFilter: filter }),
      }),
    ),
  }),
  keywordQuery: (queryText) => ({
    path: `${at}/keyword-search`,
    body: Buffer.from(JSON.stringify({ queryText })),
  }),
  hybridQuery: (vector, queryText) => ({
    path: `${at}/hybrid-search`,
    body: Buffer.from(JSON.stringify({ queryEmbedding: Array.from(vector), queryText })),
  }),
  rowsIn: (answer) =>
    (JSON.parse(answer.toString('utf8')) as { results: { metadata: { row: number } }[] }).results.map(
      ({ metadata }) => metadata.row,
    ),
  async atRest() {
    const began = performance.now()
    const db = await connect(folder)
    for (;;) {
      const opened = await db.openTable(table)
      const stats = await opened.indexStats('vector_idx')
      const seconds = (performance.now() - began) / 1000
      if (stats?.numUnindexedRows === 0 && (await isUpkeepIdle(process.pid ?? 0))) return seconds
      if (seconds > 300) throw new Error('the store did not come to rest in five minutes')
    }
  },
})

/** Whether the platform's background work did nothing for as long as it takes it to look at a store again. */
async function isUpkeepIdle(pid: number): Promise<boolean> {
  const before = await upkeepSeconds(pid)
  await delay(4000)
  return (await upkeepSeconds(pid)) === before
}

async function upkeepSeconds(pid: number): Promise<number> {
  const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).trim().split(' ')
  for (const child of children) {
    const command = await readFile(`/proc/${child}/cmdline`, 'utf8').catch(() => '')
    if (command.includes('upkeep/child')) return (await usageOf(Number(child))).cpuSeconds
  }
  return 0
}

function addBody(vectors: Float32Array, from: number): Buffer {
  const rows = Array.from({ length: BATCH }, (_, at) => from + at)
  return Buffer.from(
    JSON.stringify({
      embeddings: rows.map((row) => Array.from(vectors.subarray(row * DIMENSION, (row + 1) * DIMENSION))),
      chunks: rows.map(textOf),
      documentIds: rows.map((row) => `document-${row}`),
      metadata: rows.map(metadataOf),
    }),
  )
}
