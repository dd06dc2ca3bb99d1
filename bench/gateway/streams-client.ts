// Opens many streams at once, checks every chunk's place, and measures the wait for the first one.
// A process of its own, on raw sockets: a full HTTP client would spend more on 25,000 chunks a second than the gateway.
import { connect } from 'node:net'
import { performance } from 'node:perf_hooks'

export interface StreamsOptions {
  readonly port: number
  readonly path: string
  readonly key: string
  readonly body: string
  readonly streams: number
  readonly chunks: number
  /** Streams start spread over this time, as callers do. */
  readonly rampMs: number
}

export interface StreamsResult {
  readonly complete: number
  /** Chunks that came out of order, twice or not at all. */
  readonly misplaced: number
  readonly firstChunkMs: { readonly p50: number; readonly p99: number; readonly max: number }
  readonly seconds: number
}

const NUMBER = /"content":"(\d+) "/g

async function readStream(
  options: StreamsOptions,
): Promise<{ firstMs: number; misplaced: number; isComplete: boolean }> {
  const { port, path, key, body } = options
  const started = performance.now()
  return new Promise((resolve) => {
    let firstMs = Number.NaN
    let expected = 0
    let misplaced = 0
    let carry = ''
    let isComplete = false
    const socket = connect(port, '127.0.0.1')
    socket.setNoDelay(true)
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    socket.on('data', (data) => {
      const text = carry + data.toString('latin1')
      if (Number.isNaN(firstMs) && text.includes('data: ')) firstMs = performance.now() - started
      let end = 0
      for (const match of text.matchAll(NUMBER)) {
        if (Number(match[1]) !== expected) misplaced += 1
        expected = Number(match[1]) + 1
        end = match.index + match[0].length
      }
      if (text.includes('data: [DONE]')) isComplete = true
      if (isComplete && text.endsWith('0\r\n\r\n')) socket.destroy()
      carry = text.slice(Math.max(end, text.length - 64))
    })
    const finish = (): void =>
      resolve({ firstMs, misplaced: misplaced + options.chunks - expected, isComplete })
    socket.on('close', finish)
    socket.on('error', () => {})
  })
}

const options = JSON.parse(process.argv[2] ?? '{}') as StreamsOptions
const started = performance.now()
const results = await Promise.all(
  Array.from({ length: options.streams }, async (_, i) => {
    await new Promise((resolve) => setTimeout(resolve, (i * options.rampMs) / options.streams))
    return readStream(options)
  }),
)
const firsts = results.map(({ firstMs }) => firstMs).sort((a, b) => a - b)
const at = (share: number): number =>
  firsts[Math.min(firsts.length - 1, Math.floor(firsts.length * share))] ?? Number.NaN
const result: StreamsResult = {
  complete: results.filter(({ isComplete }) => isComplete).length,
  misplaced: results.reduce((sum, one) => sum + Math.abs(one.misplaced), 0),
  firstChunkMs: { p50: at(0.5), p99: at(0.99), max: at(1) },
  seconds: (performance.now() - started) / 1000,
}
process.stdout.write(JSON.stringify(result))
