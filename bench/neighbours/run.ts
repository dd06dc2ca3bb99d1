// One tenant at its worst on each service, while a neighbour's plain calls to the same service are timed. Platform,
// attacker, neighbour and a bare server are processes of their own.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { usageOf } from '../gateway/processes.ts'
import { startPlatform } from '../portal/platform.ts'
import type { AttackerOptions } from './attacker.ts'
import { type Attack, attacksOf, plainCalls, type Service } from './attacks.ts'
import type { NeighbourOptions, NeighbourResult } from './neighbour.ts'
import { createTenant, pileUp } from './tenants.ts'

const SECONDS = Number(process.env.BENCH_SECONDS ?? 8)
/** Windows in which an attacker must have got an answer. */
const MOST_WINDOWS = 6
/** Parts of the attacks' names, separated by commas, to measure a few alone. */
const ONLY = (process.env.BENCH_ONLY ?? '').split(',')

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

const quantile = (times: readonly number[], part: number): number =>
  times.toSorted((a, b) => a - b)[Math.floor(times.length * part)] ?? Number.NaN
const p50 = (times: readonly number[]): number => quantile(times, 0.5)
const p99 = (times: readonly number[]): number => quantile(times, 0.99)
const ms = (value: number): string => value.toFixed(1)

await using platform = await startPlatform()
const port = Number(new URL(platform.url).port)
const attacker = await createTenant(platform, 'attacker', 5000)
const neighbour = await createTenant(platform, 'neighbour', 100)
await pileUp(platform, attacker)
const plain = plainCalls(neighbour)
const bare = fork(path.join(import.meta.dirname, 'bare.ts'), { execArgv: [] })
const barePort = ((await once(bare, 'message')) as [number])[0]
const rss = async (): Promise<number> => Math.round((await usageOf(platform.pid)).rssMiB)

const timed = (service: Service): Promise<NeighbourResult> =>
  outputOf(start('neighbour.ts', { port, barePort, call: plain[service], seconds: SECONDS, everyMs: 20 }))

/** What is timed while an attacker does its worst; longer when nothing answered it in the time. */
async function underAttack(service: Service, options: AttackerOptions) {
  const child = start('attacker.ts', options)
  const ended = outputOf<Record<string, number>>(child)
  const began = performance.now()
  let hasAnswer = options.unread === true
  child.on('message', (message) => {
    hasAnswer ||= message === 'answered'
  })
  await once(child, 'message')
  await delay(1000)
  const results: NeighbourResult[] = []
  do results.push(await timed(service))
  while (!hasAnswer && results.length < MOST_WINDOWS)
  const seconds = (performance.now() - began) / 1000
  child.kill('SIGTERM')
  const statuses = await ended
  return {
    times: results.flatMap(({ times }) => times),
    bare: results.flatMap((result) => result.bare),
    failures: results.reduce((sum, { failures }) => sum + failures, 0),
    perSecond: Object.values(statuses).reduce((sum, times) => sum + times, 0) / seconds,
    answers: Object.entries(statuses).map(([status, times]) => `${times} × ${status}`),
  }
}

async function measure(attack: Attack): Promise<string> {
  const { service, name } = attack
  const quiet = await timed(service)
  const before = await rss()
  let highest = before
  const watching = setInterval(() => void rss().then((now) => (highest = Math.max(highest, now))), 200)
  const attacked = await underAttack(service, { ...attack, port })
  clearInterval(watching)
  await delay(3000)
  // The same calls on a server that does nothing with them, as many a second.
  const { perSecond } = attacked
  const floor =
    perSecond === 0 ? undefined : await underAttack(service, { ...attack, port: barePort, perSecond })
  await delay(500)
  return `| ${[
    service,
    name,
    `${ms(p50(quiet.times))} / ${ms(p99(quiet.times))}`,
    `${ms(p50(attacked.times))} / ${ms(p99(attacked.times))}`,
    ms(p99(attacked.times) / p99(quiet.times)),
    `${ms(p99(quiet.bare))} → ${ms(p99(attacked.bare))} (${ms(p99(attacked.bare) / p99(quiet.bare))})`,
    floor === undefined ? '' : `${ms(p99(floor.bare))} (${ms(p99(floor.bare) / p99(quiet.bare))})`,
    before,
    highest,
    attacked.failures,
    `${attacked.answers.join(', ')} (${ms(perSecond)}/s)`,
  ].join(' | ')} |`
}

console.log(
  '| service | the attacker’s calls | quiet p50 / p99 ms | under attack | times | bare server beside it, p99 | bare server attacked as often, p99 | RSS MiB before | highest | neighbour’s failures | answers to the attacker |',
)
console.log('|---|---|---|---|---|---|---|---|---|---|---|')
for (const attack of attacksOf(attacker, platform.token)) {
  if (ONLY.some((part) => attack.name.includes(part))) console.log(await measure(attack))
}
bare.kill('SIGTERM')
