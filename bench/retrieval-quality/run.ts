/**
 * How well searches rank, over HTTP, on test collections: `BENCH_IR_DATA` names a folder with a folder for each, in
 * BEIR's form or Cranfield's; `BENCH_IR_VECTORS` one with their vectors, made by `embed.py`.
 */
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { randomFrom } from '@atrium/testing'
import { startPlatform } from '../portal/platform.ts'
import { type Collection, readCollection, type Vectors, vectorsOf } from './collections.ts'
import { misspell } from './misspell.ts'

const K = 10
const DIMENSION = 1024
const BATCH = 200
const AT_ONCE = 4
const TYPO_SEEDS = [1, 2, 3]
/** Long enough for the background index. */
const SETTLE_MS = 5000

interface Result {
  readonly documentId: string
  readonly score: number
}

const data = process.env.BENCH_IR_DATA
if (data === undefined) {
  console.log('Skipped: `BENCH_IR_DATA` names no folder with test collections.')
  process.exit(0)
}

await using platform = await startPlatform()
const headers = { authorization: `Bearer ${platform.token}`, 'content-type': 'application/json' }

async function post<T>(url: string, body: object): Promise<T> {
  const answer = await fetch(`${platform.url}${url}`, {
    method: 'POST',
    headers,
    body: JSON.stringify(body),
  })
  if (!answer.ok) throw new Error(`POST ${url}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

const { spaceId } = await post<{ spaceId: string }>('/portal/v1/spaces', { spaceName: 'bench', appId: 'A' })
// Whoever makes a space is no member of it.
await post(`/portal/v1/spaces/${spaceId}/users`, {
  qNumber: 'bench',
  name: 'Bench',
  mailAddress: 'bench@example.com',
  role: 'owner',
})

/** @returns the store's path */
async function store(collection: Collection, vectors: Vectors | undefined): Promise<string> {
  const stores = `/agents/v1/spaces/${spaceId}/vector-stores`
  const { vectorStoreId } = await post<{ vectorStoreId: string }>(stores, {
    name: collection.name,
    embeddingModel: 'titan-text-embeddings-v2',
    embeddingDimension: DIMENSION,
  })
  const url = `${stores}/${vectorStoreId}`
  const documents = [...collection.documents]
  const any = [1, ...new Array<number>(DIMENSION - 1).fill(0)]
  for (let i = 0; i < documents.length; i += BATCH) {
    const part = documents.slice(i, i + BATCH)
    await post(`${url}/embeddings`, {
      embeddings: part.map(([id]) => vectors?.documents.get(id) ?? any),
      chunks: part.map(([, text]) => text),
      documentIds: part.map(([id]) => id),
    })
  }
  await delay(SETTLE_MS)
  return url
}

/** Binary, with the ideal over min(k, relevant). */
function ndcg(ranked: readonly string[], relevant: ReadonlySet<string>): number {
  const gain = (i: number): number => 1 / Math.log2(i + 2)
  const found = ranked.slice(0, K).reduce((sum, id, i) => sum + (relevant.has(id) ? gain(i) : 0), 0)
  const ideal = Array.from({ length: Math.min(K, relevant.size) }, (_, i) => gain(i))
  return found / ideal.reduce((sum, value) => sum + value, 0)
}

interface Run {
  readonly ndcg: number
  readonly p50: number
  readonly p95: number
}

/** Every query of a collection that has relevant documents. */
async function run(
  collection: Collection,
  url: string,
  bodyOf: (text: string, queryId: string) => object,
): Promise<Run> {
  const queries = [...collection.queries].filter(([id]) => collection.relevant.has(id))
  const times: number[] = []
  let sum = 0
  for (let i = 0; i < queries.length; i += AT_ONCE) {
    const gains = queries.slice(i, i + AT_ONCE).map(async ([id, text]) => {
      const begun = performance.now()
      const { results } = await post<{ results: Result[] }>(url, { limit: K, ...bodyOf(text, id) })
      times.push(performance.now() - begun)
      const ranked = results.map(({ documentId }) => documentId)
      return ndcg(ranked, collection.relevant.get(id) ?? new Set())
    })
    for (const gain of await Promise.all(gains)) sum += gain
  }
  times.sort((a, b) => a - b)
  const at = (share: number): number => times[Math.floor(times.length * share)] ?? 0
  return { ndcg: sum / queries.length, p50: at(0.5), p95: at(0.95) }
}

const row = (collection: string, what: string, { ndcg: quality, p50, p95 }: Run): void =>
  console.log(`| ${collection} | ${what} | ${quality.toFixed(4)} | ${p50.toFixed(1)} | ${p95.toFixed(1)} |`)

async function measure(collection: Collection): Promise<void> {
  const { name } = collection
  const vectors = await vectorsOf(process.env.BENCH_IR_VECTORS, name, DIMENSION)
  const url = await store(collection, vectors)
  const keyword = `${url}/keyword-search`
  row(name, 'keyword, defaults', await run(collection, keyword, (queryText) => ({ queryText })))
  row(
    name,
    'keyword, fuzzy off',
    await run(collection, keyword, (queryText) => ({ queryText, fuzzy: false })),
  )
  for (const seed of TYPO_SEEDS) {
    const random = randomFrom(seed)
    const typos = new Map([...collection.queries].map(([id, text]) => [id, misspell(text, random)]))
    const fuzzy = (more: object) => (_text: string, id: string) => ({ queryText: typos.get(id), ...more })
    row(name, `keyword, misspelt (seed ${seed})`, await run(collection, keyword, fuzzy({})))
    if (seed === 1) {
      row(name, 'the same, fuzzy off', await run(collection, keyword, fuzzy({ fuzzy: false })))
    }
  }
  if (vectors === undefined) return
  const queryEmbedding = (id: string): readonly number[] | undefined => vectors.queries.get(id)
  row(
    name,
    'vector',
    await run(collection, `${url}/search`, (_, id) => ({ queryEmbedding: queryEmbedding(id) })),
  )
  for (const vectorWeight of [undefined, 0.5, 0.3]) {
    const label = vectorWeight === undefined ? 'hybrid, defaults' : `hybrid, vectorWeight ${vectorWeight}`
    const body = (queryText: string, id: string) => ({
      queryText,
      queryEmbedding: queryEmbedding(id),
      vectorWeight,
    })
    row(name, label, await run(collection, `${url}/hybrid-search`, body))
  }
}

console.log(`| collection | search | nDCG@${K} | p50 ms | p95 ms |`)
console.log('|---|---|---|---|---|')
for (const folder of (await readdir(data)).sort()) {
  const collection = await readCollection(path.join(data, folder))
  if (collection !== undefined) await measure(collection)
}
