// Vector search over HTTP: recall, queries and rows a second, memory, and searches while rows come in; against
// LanceDB called directly, in processes of their own, and against Chroma.
import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { median, usageOf } from '../gateway/processes.ts'
import { type Atrium, type Store, startAtrium } from './atrium.ts'
import { startChroma } from './chroma.ts'
import { closedLoop, type Post, post, type Target, type Timed } from './client.ts'
import {
  BATCH,
  clusteredVectors,
  DIMENSION,
  nearestRows,
  QUERIES,
  ROWS,
  SELECTIONS,
  type Selection,
} from './data.ts'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 6)
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 3)
/** Queries whose recall is measured for each filter. */
const JUDGED = 100
const exec = promisify(execFile)

const vectors = clusteredVectors(ROWS, 1)
const asked = clusteredVectors(QUERIES, 99)
const queries = Array.from({ length: QUERIES }, (_, at) =>
  asked.subarray(at * DIMENSION, (at + 1) * DIMENSION),
)

interface Contender {
  readonly target: Target
  addBatch(vectors: Float32Array, from: number): Post
  query(vector: Float32Array, filter: Selection['filter']): Post
  rowsIn(answer: Buffer): number[]
}

async function direct<Result>(options: object): Promise<Result> {
  const script = path.join(import.meta.dirname, 'direct.ts')
  const { stdout } = await exec(process.execPath, [script, JSON.stringify(options)], { maxBuffer: 1e8 })
  return JSON.parse(stdout) as Result
}

/** Sends batches over so many connections, or one every so often over one; rows a second. */
async function ingest(
  { target }: Contender,
  batches: readonly Post[],
  { connections = 4, everyMs = 0 } = {},
): Promise<number> {
  let next = 0
  const began = performance.now()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let batch = batches[next++]; batch !== undefined; batch = batches[next++]) {
        await Promise.all([post(target, batch), delay(everyMs)])
      }
    }),
  )
  return ((batches.length * BATCH) / (performance.now() - began)) * 1000
}

const batchesOf = (contender: Contender): Post[] =>
  Array.from({ length: ROWS / BATCH }, (_, at) => contender.addBatch(vectors, at * BATCH))

async function recall(contender: Contender, { filter, keeps }: Selection): Promise<number> {
  let hits = 0
  for (const query of queries.slice(0, JUDGED)) {
    const nearest = new Set(nearestRows(vectors, query, keeps, 10))
    const found = contender.rowsIn(await post(contender.target, contender.query(query, filter)))
    hits += found.filter((row) => nearest.has(row)).length
  }
  return hits / (10 * JUDGED)
}

function load(contender: Contender, filter: Selection['filter']) {
  const posts = queries.map((query) => contender.query(query, filter))
  return (atOnce: number, until: number | Promise<unknown>): Promise<Timed> =>
    closedLoop(atOnce, until, (turn) => post(contender.target, posts[turn % QUERIES] as Post))
}

const ms = (value: number): string => `${value.toFixed(1)} ms`
const count = (value: number): string => Math.round(value).toLocaleString('en')
const row = (...cells: (string | number)[]): string => `| ${cells.join(' | ')} |`

interface SearchFigures {
  readonly selection: Selection
  readonly recall: number
  readonly timed: Timed
}

async function searchFigures(contender: Contender): Promise<SearchFigures[]> {
  const figures: SearchFigures[] = []
  for (const selection of SELECTIONS) {
    const timed = await load(contender, selection.filter)(16, SECONDS)
    figures.push({ selection, recall: await recall(contender, selection), timed })
  }
  return figures
}

/** Turns of LanceDB alone and of the platform, on the same files. */
async function againstDirect(contender: Contender, store: Store): Promise<number[]> {
  const ratios: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const { folder, table } = store
    const alone = await direct<Timed>({ task: 'search', folder, table, seconds: SECONDS })
    const served = await load(contender, undefined)(16, SECONDS)
    ratios.push(served.perSecond / alone.perSecond)
  }
  return ratios
}

/** One connection that sends the next batch at once, or a thousand rows a second: what an embedding model may give. */
const INGESTIONS = [
  { name: 'as fast as it can', count: 20, everyMs: 0 },
  { name: '1,000 rows/s', count: 12, everyMs: 500 },
]

async function whileIngesting(contender: Contender, store: Store): Promise<string[]> {
  const lines: string[] = []
  for (const { name, count: length, everyMs } of INGESTIONS) {
    const batches = Array.from({ length }, (_, at) => contender.addBatch(vectors, at * BATCH))
    for (const atOnce of [1, 4, 16]) {
      const quiet = await load(contender, undefined)(atOnce, SECONDS)
      let rate = 0
      const ingestion = ingest(contender, batches, { connections: 1, everyMs }).then((rows) => {
        rate = rows
      })
      const busy = await load(contender, undefined)(atOnce, ingestion)
      const times = (busy.p95 / quiet.p95).toFixed(1)
      lines.push(row(name, atOnce, ms(quiet.p95), ms(busy.p95), times, `${count(rate)} rows/s`))
      await store.atRest()
    }
  }
  return lines
}

async function measureAtrium(
  atrium: Atrium,
  folder: string,
): Promise<{ text: string; figures: SearchFigures[]; rate: number }> {
  const rss: string[] = []
  const noteMemory = async (rows: number): Promise<void> => {
    const { rssMiB } = await usageOf(atrium.process.pid ?? 0)
    rss.push(`${count(rows)} rows: ${rssMiB.toFixed(0)} MiB`)
  }
  const arrow: number[] = []
  const plain: number[] = []
  const served: number[] = []
  let store = await atrium.createStore()
  let contender: Contender = { ...store, target: atrium.target }
  await noteMemory(0)
  for (let round = 0; round < ROUNDS; round++) {
    arrow.push(await direct<number>({ task: 'add-arrow', folder, table: `arrow${round}` }))
    plain.push(await direct<number>({ task: 'add-rows', folder, table: `plain${round}` }))
    store = await atrium.createStore()
    contender = { ...store, target: atrium.target }
    served.push(await ingest(contender, batchesOf(contender)))
    await noteMemory(ROWS * (round + 1))
    await store.atRest()
  }
  const figures = await searchFigures(contender)
  await noteMemory(ROWS * ROUNDS)
  const ratios = await againstDirect(contender, store)
  const busy = await whileIngesting(contender, store)
  await noteMemory(ROWS * ROUNDS + 96 * BATCH)
  const rate = median(served)
  const text = [
    `- Rows a second in batches of ${BATCH}: LanceDB directly ${count(median(arrow))} (Arrow batches made beforehand), ${count(median(plain))} (\`table.add\` of objects with arrays); over HTTP, four connections, JSON, with text analysis and metadata labels: **${count(rate)}, ${(rate / median(arrow)).toFixed(2)} of the first and ${(rate / median(plain)).toFixed(2)} of the second** (goal: 0.6).`,
    `- Queries a second at 16 connections, of LanceDB called directly on the same files: **${median(ratios).toFixed(2)}** (rounds ${ratios.map((value) => value.toFixed(2)).join(', ')}; goal: 0.7).`,
    `- Memory of the server process: ${rss.join(', ')}.`,
    '',
    'Searches while one connection ingests batches of 500 (goal: under 3 times the quiet p95):',
    '',
    row('ingestion', 'connections', 'quiet p95', 'p95 while ingesting', 'times', 'ingested'),
    row('---', '---', '---', '---', '---', '---'),
    ...busy,
  ].join('\n')
  return { text, figures, rate }
}

const folder = await mkdtemp(path.join(tmpdir(), 'atrium-bench-retrieval-'))
try {
  const atrium = await startAtrium(path.join(folder, 'atrium'))
  const ours = await measureAtrium(atrium, path.join(folder, 'direct'))
  await atrium.stop()

  const chroma = await startChroma(path.join(folder, 'chroma'))
  const theirRate = await ingest(chroma, batchesOf(chroma))
  await delay(2000)
  const theirs = await searchFigures(chroma)
  const theirMemory = await usageOf(chroma.process.pid ?? 0)
  await chroma.stop()

  process.stdout.write(
    [
      row('', 'recall@10', 'queries/s', 'p95', `${chroma.name}: recall@10`, 'queries/s', 'p95'),
      row('---', '---', '---', '---', '---', '---', '---'),
      ...ours.figures.map(({ selection, recall, timed }, at) => {
        const other = theirs[at]
        return row(
          selection.name,
          `**${recall.toFixed(3)}**`,
          count(timed.perSecond),
          ms(timed.p95),
          other?.recall.toFixed(3) ?? '',
          count(other?.timed.perSecond ?? 0),
          ms(other?.timed.p95 ?? 0),
        )
      }),
      row('rows/s in', '', count(ours.rate), '', '', count(theirRate), ''),
      '',
      ours.text,
      `- ${chroma.name} at the end: ${theirMemory.rssMiB.toFixed(0)} MiB.`,
      '',
    ].join('\n'),
  )
} finally {
  await rm(folder, { recursive: true, force: true })
}
