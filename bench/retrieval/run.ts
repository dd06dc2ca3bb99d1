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
  textOf,
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
  // LanceDB leaves its files to the operating system, the platform waits for the disk: not for what the other one left.
  await exec('sync')
  return JSON.parse(stdout) as Result
}

/** Sends batches over so many connections, each the next one as soon as it may; rows a second. */
async function ingest({ target }: Contender, batches: Iterable<Post>, connections = 4): Promise<number> {
  const next = batches[Symbol.iterator]()
  let sent = 0
  const began = performance.now()
  await Promise.all(
    Array.from({ length: connections }, async () => {
      for (let turn = next.next(); turn.done !== true; turn = next.next()) {
        await post(target, turn.value)
        sent += BATCH
      }
    }),
  )
  return (sent / (performance.now() - began)) * 1000
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

type Load = (atOnce: number, until: number | Promise<unknown>) => Promise<Timed>

const loadOf =
  ({ target }: Contender, posts: readonly Post[]): Load =>
  (atOnce, until) =>
    closedLoop(atOnce, until, (turn) => post(target, posts[turn % QUERIES] as Post))

const load = (contender: Contender, filter: Selection['filter']): Load =>
  loadOf(
    contender,
    queries.map((query) => contender.query(query, filter)),
  )

const ms = (value: number): string => `${value.toFixed(1)} ms`
const count = (value: number): string => Math.round(value).toLocaleString('en')
const shown = (ratios: readonly number[]): string => ratios.map((value) => value.toFixed(2)).join(', ')
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

interface Ratios {
  /** Queries that nobody has asked before: the rows that they find are partly new. */
  readonly first: number[]
  /** The same queries again and again, as LanceDB is asked. */
  readonly again: number[]
}

/** Turns of LanceDB alone and of the platform, on the same files. */
async function againstDirect(contender: Contender, store: Store): Promise<Ratios> {
  const ratios: Ratios = { first: [], again: [] }
  for (let round = 0; round < ROUNDS; round++) {
    const { folder, table } = store
    const posts = newQueries(1000 + round).map((query) => contender.query(query, undefined))
    const first = await closedLoop(16, SECONDS, (turn) =>
      post(contender.target, posts[turn % posts.length] as Post),
    )
    const alone = await direct<Timed>({ task: 'search', folder, table, seconds: SECONDS })
    const again = await load(contender, undefined)(16, SECONDS)
    ratios.first.push(first.perSecond / alone.perSecond)
    ratios.again.push(again.perSecond / alone.perSecond)
  }
  return ratios
}

/** More than are asked in a round. */
function newQueries(seed: number): Float32Array[] {
  const count = 700 * SECONDS
  const all = clusteredVectors(count, seed)
  return Array.from({ length: count }, (_, at) => all.subarray(at * DIMENSION, (at + 1) * DIMENSION))
}

/** Seconds of searching while rows come in. */
const BUSY_SECONDS = 12

async function whileIngesting(contender: Contender, store: Store): Promise<string[]> {
  const batches = batchesOf(contender).slice(0, 20)
  const wordsOf = (at: number): string =>
    textOf(ROWS + at)
      .split(' ')
      .slice(0, 4)
      .join(' ')
  const kinds = {
    vector: load(contender, undefined),
    keyword: loadOf(
      contender,
      queries.map((_, at) => store.keywordQuery(wordsOf(at))),
    ),
    hybrid: loadOf(
      contender,
      queries.map((query, at) => store.hybridQuery(query, wordsOf(at))),
    ),
  }
  const lines: string[] = []
  for (const [name, search] of Object.entries(kinds)) {
    for (const atOnce of [1, 4, 16]) {
      const quiet = await search(atOnce, SECONDS)
      const until = performance.now() + BUSY_SECONDS * 1000
      const ingestion = ingest(contender, endless(batches, until), 1)
      const busy = await search(atOnce, delay(BUSY_SECONDS * 1000))
      const times = (busy.p95 / quiet.p95).toFixed(1)
      lines.push(row(name, atOnce, ms(quiet.p95), ms(busy.p95), times, `${count(await ingestion)} rows/s`))
      await store.atRest()
    }
  }
  return lines
}

function* endless(batches: readonly Post[], until: number): Generator<Post> {
  for (let at = 0; performance.now() < until; at++) yield batches[at % batches.length] as Post
}

async function measureAtrium(
  atrium: Atrium,
  folder: string,
): Promise<{ text: string; figures: SearchFigures[]; rate: number }> {
  const rss: string[] = []
  const noteMemory = async (after: string): Promise<void> => {
    const { rssMiB } = await usageOf(atrium.process.pid ?? 0)
    rss.push(`${after}: ${rssMiB.toFixed(0)} MiB`)
  }
  const arrow: number[] = []
  const plain: number[] = []
  const served: number[] = []
  let store = await atrium.createStore()
  let contender: Contender = { ...store, target: atrium.target }
  await noteMemory('empty')
  for (let round = 0; round < ROUNDS; round++) {
    arrow.push(await direct<number>({ task: 'add-arrow', folder, table: `arrow${round}` }))
    plain.push(await direct<number>({ task: 'add-rows', folder, table: `plain${round}` }))
    store = await atrium.createStore()
    contender = { ...store, target: atrium.target }
    served.push(await ingest(contender, batchesOf(contender)))
    await noteMemory(`${count(ROWS * (round + 1))} rows`)
    await store.atRest()
  }
  // First, while no row is remembered.
  const ratios = await againstDirect(contender, store)
  const figures = await searchFigures(contender)
  await noteMemory('searched')
  const busy = await whileIngesting(contender, store)
  await noteMemory('searched while rows came in')
  const rate = median(served)
  const ofArrow = served.map((rows, round) => rows / (arrow[round] ?? Number.NaN))
  const ofPlain = served.map((rows, round) => rows / (plain[round] ?? Number.NaN))
  const text = [
    `- Rows a second in batches of ${BATCH}: LanceDB directly ${count(median(arrow))} (Arrow batches made beforehand), ${count(median(plain))} (\`table.add\` of objects with arrays); over HTTP, four connections, JSON, with text analysis and metadata labels: **${count(rate)}, ${median(ofArrow).toFixed(2)} of the first** (rounds ${shown(ofArrow)}; the first of them starts a thread and is compiled) **and ${median(ofPlain).toFixed(2)} of the second** (${shown(ofPlain)}; goal: 0.6).`,
    `- Queries a second at 16 connections, of LanceDB called directly on the same files: **${median(ratios.first).toFixed(2)} when each query is a new one** (rounds ${shown(ratios.first)}), **${median(ratios.again).toFixed(2)} when queries come again** (${shown(ratios.again)}; goal: 0.7).`,
    `- Memory of the server process: ${rss.join(', ')}.`,
    '',
    'Searches while one connection ingests batches of 500 (goal: under 3 times the quiet p95):',
    '',
    row('search', 'connections', 'quiet p95', 'p95 while ingesting', 'times', 'ingested'),
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
