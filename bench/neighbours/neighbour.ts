// The other tenant: one plain call after the other on one connection, at a steady pace, and between two of them one to
// a bare server beside the platform; both are timed. Prints the times as JSON.
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { bytesOf, type Call, clientOf } from './calls.ts'

export interface NeighbourOptions {
  readonly port: number
  readonly call: Call
  readonly barePort: number
  readonly seconds: number
  readonly everyMs: number
}

export interface NeighbourResult {
  readonly times: readonly number[]
  readonly bare: readonly number[]
  readonly failures: number
}

const { port, call, barePort, seconds, everyMs } = ((await once(process, 'message')) as [NeighbourOptions])[0]
const body = bytesOf(call.body)
let failures = 0

function caller(at: number) {
  const client = clientOf(at, 1)
  const times: number[] = []
  async function ask(): Promise<void> {
    const began = performance.now()
    const status = await client(call, body).catch(() => 0)
    const ms = performance.now() - began
    times.push(ms)
    if (status >= 300 || status === 0) failures += 1
    await delay(Math.max(0, everyMs / 2 - ms))
  }
  return { ask, times }
}

const platform = caller(port)
const bare = caller(barePort)
for (let warm = 0; warm < 5; warm++) {
  await platform.ask()
  await bare.ask()
}
for (const times of [platform.times, bare.times]) times.length = 0
failures = 0
const end = performance.now() + seconds * 1000
while (performance.now() < end) {
  await platform.ask()
  await bare.ask()
}
const result: NeighbourResult = { times: platform.times, bare: bare.times, failures }
process.stdout.write(JSON.stringify(result), () => process.exit(0))
