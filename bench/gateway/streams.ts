// 500 streams of 200 chunks, one chunk every 20 ms, directly and through the gateway.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { freePort, median, runScript, startPlatform, startScript, stop, usageOf } from './processes.ts'
import type { StreamsOptions, StreamsResult } from './streams-client.ts'

const STREAMS = 500
const CHUNKS = 200
const INTERVAL_MS = 20
const ROUNDS = Number(process.env.BENCH_ROUNDS ?? 5)

const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-bench-'))
const upstreamPort = await freePort()
const upstream = await startScript(
  'streaming-upstream.ts',
  String(upstreamPort),
  String(CHUNKS),
  String(INTERVAL_MS),
)
const platform = await startPlatform(dataDir, upstreamPort)
const pid = platform.process.pid ?? 0

const options: StreamsOptions = {
  port: platform.port,
  path: '/llm/v1/chat/completions',
  key: platform.apiKey,
  body: JSON.stringify({ model: 'gpt-4o', stream: true, messages: [{ role: 'user', content: 'Count.' }] }),
  streams: STREAMS,
  chunks: CHUNKS,
  rampMs: 1000,
}
const direct = { ...options, port: upstreamPort, path: '/v1/chat/completions' }

// Warm-up: code compiled, connections open, the tokenizer loaded.
await runScript<StreamsResult>('streams-client.ts', options)

const show = (name: string, result: StreamsResult, memory = ''): void => {
  const { p50, p99, max } = result.firstChunkMs
  console.log(
    `| ${name} | ${result.complete}/${STREAMS} | ${result.misplaced} | ${p50.toFixed(1)} | ${p99.toFixed(1)} | ${max.toFixed(1)} | ${memory} |`,
  )
}
console.log(
  '| | complete | chunks lost or misplaced | first chunk p50 ms | p99 ms | max ms | gateway RSS MiB over time |',
)
console.log('|---|---|---|---|---|---|---|')
const added: number[] = []
for (let round = 1; round <= ROUNDS; round++) {
  const straight = await runScript<StreamsResult>('streams-client.ts', direct)
  show(`direct ${round}`, straight)
  const memory: number[] = []
  const sampler = setInterval(
    () => void usageOf(pid).then(({ rssMiB }) => memory.push(Math.round(rssMiB))),
    1000,
  )
  const result = await runScript<StreamsResult>('streams-client.ts', options)
  clearInterval(sampler)
  show(`gateway ${round}`, result, memory.join(' '))
  added.push(result.firstChunkMs.p99 - straight.firstChunkMs.p99)
}
console.log(`\nAdded to the first chunk at p99, median of ${ROUNDS} rounds: ${median(added).toFixed(1)} ms`)

await stop(platform.process)
await stop(upstream)
await rm(dataDir, { recursive: true, force: true })
