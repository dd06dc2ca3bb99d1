// The local engine by its port, against bare spawns of the same processes and against Prefect from PyPI.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { findInterpreter } from '../../services/workflows/src/adapters/python/interpreter.ts'
import { SCRIPT, startEngine } from './engine.ts'

const PREFECT = '3.8.8'
/** The newest that it runs with. */
const FASTAPI = '0.139.0'
const CHAIN = 40
const RUNS = Number(process.env.BENCH_RUNS ?? 1000)
const AT_ONCE = 4
const ROUNDS = 3
const execute = promisify(execFile)

const interpreter =
  (await findInterpreter('/usr/bin/python3').catch(() => undefined)) ?? (await findInterpreter('python3'))
if (interpreter === undefined) {
  console.log('Skipped: there is no python3')
  process.exit(0)
}
const python = interpreter.executable

async function bare(): Promise<void> {
  const child = spawn(python, ['-I', '-c', SCRIPT], { stdio: 'ignore' })
  await once(child, 'exit')
}

async function inTurns(times: number, atOnce: number, work: () => Promise<unknown>): Promise<number> {
  let left = times
  const began = performance.now()
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (left-- > 0) await work()
    }),
  )
  return performance.now() - began
}

const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN

async function prefect(): Promise<number | undefined> {
  const folder = await mkdtemp(path.join(tmpdir(), 'atrium-bench-'))
  try {
    const venv = path.join(folder, 'venv')
    await execute(python, ['-m', 'venv', venv])
    await execute(
      path.join(venv, 'bin/pip'),
      ['install', '--quiet', `prefect==${PREFECT}`, `fastapi==${FASTAPI}`],
      {
        maxBuffer: 1e8,
      },
    )
    const { stdout } = await execute(
      path.join(venv, 'bin/python'),
      [path.join(import.meta.dirname, 'prefect-flow.py'), python, String(CHAIN)],
      {
        env: {
          ...process.env,
          PREFECT_HOME: folder,
          PREFECT_LOGGING_LEVEL: 'ERROR',
          PREFECT_SERVER_ANALYTICS_ENABLED: 'false',
        },
        maxBuffer: 1e8,
      },
    )
    return Number(stdout.trim().split('\n').at(-1))
  } catch (error) {
    process.stderr.write(`Prefect: ${(error as Error).message.slice(0, 500)}\n`)
    return undefined
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const names = Array.from({ length: CHAIN }, (_, at) => `t${at}`)
const chain = Object.fromEntries(names.map((name, at) => [name, names.slice(Math.max(0, at - 1), at)]))
const middle = Array.from({ length: 198 }, (_, at) => `m${at}`)
const fan = { begin: [], ...Object.fromEntries(middle.map((name) => [name, ['begin']])), end: middle }

const bench = await startEngine(python, AT_ONCE)
await inTurns(20, AT_ONCE, bare)
await inTurns(20, AT_ONCE, () => bench.run('sleep', { only: [] }))
const rows: { bareChain: number; chain: number; bareRate: number; confinedRate: number; rate: number }[] = []
for (let round = 0; round < ROUNDS; round++) {
  const bareChain = (await inTurns(CHAIN, 1, bare)) / CHAIN
  const engineChain = (await inTurns(1, 1, () => bench.run('sleep', chain))) / CHAIN
  const bareRate = RUNS / ((await inTurns(RUNS, AT_ONCE, bare)) / 1000)
  const confinedRate = RUNS / ((await inTurns(RUNS, AT_ONCE, bench.confined)) / 1000)
  const rate = RUNS / ((await inTurns(RUNS, AT_ONCE, () => bench.run('sleep', { only: [] }))) / 1000)
  rows.push({ bareChain, chain: engineChain, bareRate, confinedRate, rate })
}
let lost = 0
const fanMs = await inTurns(1, 1, async () => {
  lost = 200 - (await bench.run('sleep', fan))
})
const empty = (await inTurns(1, 1, () => bench.run('nothing', chain))) / CHAIN
const { mode } = bench.engine.confinement ?? { mode: 'none' }
await bench.close()
const peer = await prefect()

const of = (key: keyof (typeof rows)[number]): number => median(rows.map((row) => row[key]))
const ratios = rows.map((row) => row.rate / row.bareRate)
console.log(`| | bare | bare, confined | Atrium | Prefect ${PREFECT} | goal |
|---|---|---|---|---|---|
| ${CHAIN} tasks in a row, ms a task | ${of('bareChain').toFixed(1)} | | ${of('chain').toFixed(1)} | ${peer?.toFixed(1) ?? 'not to be had'} | |
| of it over the bare processes | | | ${median(rows.map((row) => row.chain - row.bareChain)).toFixed(1)} | ${peer === undefined ? '' : (peer - of('bareChain')).toFixed(1)} | 25 |
| ${RUNS} runs of one task, ${AT_ONCE} at a time, runs/s | ${of('bareRate').toFixed(0)} | ${of('confinedRate').toFixed(0)} | ${of('rate').toFixed(0)} | | |
| to the bare rate | | ${(of('confinedRate') / of('bareRate')).toFixed(2)} | ${median(ratios).toFixed(2)} (${ratios.map((ratio) => ratio.toFixed(2)).join(', ')}) | | 0.7 |
| to the confined bare rate | | | ${(of('rate') / of('confinedRate')).toFixed(2)} | | |
| 200 tasks, fan-out and fan-in, s | | | ${(fanMs / 1000).toFixed(1)} | | |
| tasks lost of these | | | ${lost} | | 0 |
| ${CHAIN} tasks in a row that start no process, ms a task | | | ${empty.toFixed(1)} | | |

Tasks are confined by ${mode}; medians of ${ROUNDS} interleaved rounds. Prefect runs the same processes in a flow of ${CHAIN} tasks, with its own temporary server and SQLite.`)
