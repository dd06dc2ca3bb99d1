// Requests a second: the platform with everything on, a bare pass-through, and Portkey, side by side in
// interleaved rounds on the same cores, against an upstream that answers at once.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import type { LoadOptions, LoadResult } from './load.ts'
import {
  freePort,
  median,
  runScript,
  startPlatform,
  startScript,
  stop,
  usageOf,
  waitFor,
} from './processes.ts'

const PORTKEY = '@portkey-ai/gateway@1.15.2'
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)
const SECONDS = Number(process.env.BENCH_SECONDS ?? 6)
const run = promisify(execFile)

interface Contender {
  readonly name: string
  readonly process: ChildProcess
  readonly load: Pick<LoadOptions, 'url' | 'headers'>
  readonly rates: number[]
  readonly p99s: number[]
  /** CPU of its process, in microseconds a request. */
  readonly cpu: number[]
  failures: number
}

/** Portkey, installed into a folder of its own and never into the project. */
async function installPortkey(folder: string): Promise<void> {
  await writeFile(path.join(folder, 'package.json'), '{"private":true}')
  await run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', PORTKEY], { cwd: folder })
}

/** The Node.js of this machine, where it is another than ours: what `npx @portkey-ai/gateway` would run on. */
async function otherNode(): Promise<{ path: string; version: string } | undefined> {
  const path = process.env.BENCH_OTHER_NODE
  if (path === undefined) return undefined
  return { path, version: (await run(path, ['--version'])).stdout.trim() }
}

async function startPortkey(
  folder: string,
  upstreamPort: number,
  node: { path: string; version: string },
): Promise<Contender> {
  const port = await freePort()
  const script = path.join(folder, 'node_modules/@portkey-ai/gateway/build/start-server.js')
  const child = spawn(node.path, [script, '--headless', `--port=${port}`], { stdio: 'ignore' })
  await waitFor(`http://127.0.0.1:${port}/`)
  return contender(
    `Portkey 1.15.2 on Node.js ${node.version}`,
    child,
    `http://127.0.0.1:${port}/v1/chat/completions`,
    {
      authorization: 'Bearer sk-operator',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
    },
  )
}

const contender = (
  name: string,
  process: ChildProcess,
  url: string,
  headers: Record<string, string>,
): Contender => ({ name, process, load: { url, headers }, rates: [], p99s: [], cpu: [], failures: 0 })

const body = JSON.stringify({
  model: 'gpt-4o',
  messages: [
    { role: 'system', content: 'You are a helpful assistant.' },
    { role: 'user', content: 'Say hello to everybody in this room, please.' },
  ],
})

async function measure(one: Contender, seconds: number): Promise<LoadResult & { cpuMicros: number }> {
  const pid = one.process.pid ?? 0
  const before = await usageOf(pid)
  const headers = { ...one.load.headers, 'content-type': 'application/json' }
  const result = await runScript<LoadResult>('load.ts', {
    url: one.load.url,
    headers,
    body,
    connections: 32,
    seconds,
  })
  const after = await usageOf(pid)
  const requests = result.requestsPerSecond * seconds
  return { ...result, cpuMicros: ((after.cpuSeconds - before.cpuSeconds) / requests) * 1e6 }
}

const folder = await mkdtemp(path.join(tmpdir(), 'atrium-bench-'))
const upstreamPort = await freePort()
const upstream = await startScript('instant-upstream.ts', String(upstreamPort))
const platform = await startPlatform(path.join(folder, 'data'), upstreamPort)
const barePort = await freePort()
const bare = await startScript('passthrough.ts', String(barePort), `http://127.0.0.1:${upstreamPort}`)

await installPortkey(folder)
const contenders = [
  contender('bare Fastify + undici', bare, `http://127.0.0.1:${barePort}/v1/chat/completions`, {}),
  contender(
    'Atrium, everything on',
    platform.process,
    `http://127.0.0.1:${platform.port}/llm/v1/chat/completions`,
    {
      authorization: `Bearer ${platform.apiKey}`,
    },
  ),
  await startPortkey(folder, upstreamPort, { path: process.execPath, version: process.version }),
]
const other = await otherNode()
if (other !== undefined) contenders.push(await startPortkey(folder, upstreamPort, other))
for (const one of contenders) await measure(one, 3)
for (let round = 0; round < ROUNDS; round++) {
  for (const one of contenders) {
    const result = await measure(one, SECONDS)
    one.rates.push(result.requestsPerSecond)
    one.p99s.push(result.p99)
    one.cpu.push(result.cpuMicros)
    one.failures += result.failures
    console.error(`round ${round + 1}: ${one.name} ${Math.round(result.requestsPerSecond)}/s`)
  }
}

const rates = contenders.map((one) => median(one.rates))
const [, atrium = 0] = rates
const lines = [
  '| 32 connections, upstream at once | requests/s | Atrium to it | p99 ms | CPU µs/request | failures |',
  '|---|---|---|---|---|---|',
  ...contenders.map(
    (one, i) =>
      `| ${one.name} | ${Math.round(rates[i] ?? 0)} | ${(atrium / (rates[i] ?? 1)).toFixed(2)} | ${median(one.p99s).toFixed(1)} | ${median(one.cpu).toFixed(0)} | ${one.failures} |`,
  ),
  '',
  `Medians of ${ROUNDS} interleaved rounds of ${SECONDS} s, Node.js ${process.version}.`,
]
console.log(lines.join('\n'))

for (const one of contenders) await stop(one.process)
await stop(upstream)
await rm(folder, { recursive: true, force: true })
