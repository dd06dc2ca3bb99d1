// One tenant at its worst on each service, while a neighbour's plain calls to the same service are timed. Platform,
// attacker and neighbour are processes of their own.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { usageOf } from '../gateway/processes.ts'
import { startPlatform } from '../portal/platform.ts'
import type { AttackerOptions } from './attacker.ts'
import { type Attack, attacksOf, plainCalls } from './attacks.ts'
import type { NeighbourOptions, NeighbourResult } from './neighbour.ts'
import { createTenant, pileUp } from './tenants.ts'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 8)
/** Part of the attacks' names, to measure a few alone. */
const ONLY = process.env.BENCH_ONLY ?? ''

function start(script: string, options: AttackerOptions | NeighbourOptions): ChildProcess {
  const child = fork(path.join(import.meta.dirname, script), {
    execArgv: [],
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  })
  child.send(options)
  return child
}

async function outputOf<Result>(child: ChildProcess): Promise<Result> {
  let text = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    text += chunk.toString('utf8')
  })
  await once(child, 'close')
  return JSON.parse(text) as Result
}

const p99 = ({ times }: NeighbourResult): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN

await using platform = await startPlatform()
const port = Number(new URL(platform.url).port)
const attacker = await createTenant(platform, 'attacker', 5000)
const neighbour = await createTenant(platform, 'neighbour', 100)
await pileUp(platform, attacker)
const plain = plainCalls(neighbour)
const rss = async (): Promise<number> => Math.round((await usageOf(platform.pid)).rssMiB)

const timed = ({ service }: Attack): Promise<NeighbourResult> =>
  outputOf(start('neighbour.ts', { port, call: plain[service], seconds: SECONDS, everyMs: 20 }))

async function measure(attack: Attack): Promise<string> {
  const quiet = await timed(attack)
  const before = await rss()
  const child = start('attacker.ts', { ...attack, port })
  const ended = outputOf<Record<string, number>>(child)
  await once(child, 'message')
  await delay(1000)
  let highest = await rss()
  const watching = setInterval(() => void rss().then((now) => (highest = Math.max(highest, now))), 200)
  const attacked = await timed(attack)
  clearInterval(watching)
  child.kill('SIGTERM')
  const statuses = Object.entries(await ended).map(([status, times]) => `${times} × ${status}`)
  await delay(3000)
  const [was, became] = [p99(quiet), p99(attacked)]
  return `| ${attack.service} | ${attack.name} | ${was.toFixed(1)} | ${became.toFixed(1)} | ${(became / was).toFixed(1)} | ${before} | ${highest} | ${attacked.failures} | ${statuses.join(', ')} |`
}

console.log(
  '| service | the attacker’s calls | quiet p99 ms | under attack | times | RSS MiB before | highest | neighbour’s failures | answers to the attacker |',
)
console.log('|---|---|---|---|---|---|---|---|---|')
for (const attack of attacksOf(attacker, platform.token)) {
  if (attack.name.includes(ONLY)) console.log(await measure(attack))
}
