// The other tenant: one plain call after the other on one connection, at a steady pace, timed. Prints the times as JSON.
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { bytesOf, type Call, clientOf } from './calls.ts'

export interface NeighbourOptions {
  readonly port: number
  readonly call: Call
  readonly seconds: number
  readonly everyMs: number
}

export interface NeighbourResult {
  readonly times: readonly number[]
  readonly failures: number
}

const { port, call, seconds, everyMs } = ((await once(process, 'message')) as [NeighbourOptions])[0]
const client = clientOf(port, 1)
const body = bytesOf(call.body)
const times: number[] = []
let failures = 0
for (let warm = 0; warm < 5; warm++) await client(call, body).catch(() => 0)
const end = performance.now() + seconds * 1000
while (performance.now() < end) {
  const began = performance.now()
  const status = await client(call, body).catch(() => 0)
  const ms = performance.now() - began
  times.push(ms)
  if (status >= 300 || status === 0) failures += 1
  await delay(Math.max(0, everyMs - ms))
}
process.stdout.write(JSON.stringify({ times, failures } satisfies NeighbourResult), () => process.exit(0))
