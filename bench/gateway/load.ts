// Load generator in a process of its own, on raw sockets: on two cores a full HTTP client takes from the servers
// what is to be measured. It reads every answer to its end, checks its status, and sends the next request on the
// same connection.
import { connect } from 'node:net'
import { performance } from 'node:perf_hooks'

/** What to send where; given as JSON in the first argument. */
export interface LoadOptions {
  readonly url: string
  readonly headers: Record<string, string>
  readonly body: string
  readonly connections: number
  readonly seconds: number
}

/** What came of it; printed as JSON. */
export interface LoadResult {
  readonly requestsPerSecond: number
  readonly p50: number
  readonly p99: number
  readonly failures: number
}

const HEAD_END = '\r\n\r\n'
const LAST_CHUNK = '\r\n0\r\n\r\n'

/** Length of the answer that `text` (Latin-1) begins with, or 0 while it is not complete. */
function answerLength(text: string): number {
  const headEnd = text.indexOf(HEAD_END)
  if (headEnd === -1) return 0
  const length = /\r\ncontent-length: *(\d+)/i.exec(text.slice(0, headEnd + 2))?.[1]
  if (length !== undefined) {
    const end = headEnd + HEAD_END.length + Number(length)
    return text.length >= end ? end : 0
  }
  const last = text.indexOf(LAST_CHUNK, headEnd)
  return last === -1 ? 0 : last + LAST_CHUNK.length
}

const { url, headers, body, connections, seconds } = JSON.parse(process.argv[2] ?? '{}') as LoadOptions
const { hostname, port, pathname, host } = new URL(url)
const lines = Object.entries({ host, ...headers, 'content-length': String(Buffer.byteLength(body)) })
const request = Buffer.from(
  `POST ${pathname} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}`).join('\r\n')}${HEAD_END}${body}`,
)

const latencies: number[] = []
let failures = 0
const started = performance.now()
const until = started + seconds * 1000

function run(): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname)
    let held = ''
    let sentAt = 0
    const send = (): void => {
      sentAt = performance.now()
      socket.write(request)
    }
    socket.setNoDelay(true)
    socket.on('connect', send)
    socket.on('data', (data) => {
      held += data.toString('latin1')
      const length = answerLength(held)
      if (length === 0) return
      const now = performance.now()
      if (held.startsWith('HTTP/1.1 200')) latencies.push(now - sentAt)
      else failures += 1
      held = held.slice(length)
      if (now < until) send()
      else socket.destroy()
    })
    socket.on('error', () => {
      failures += 1
    })
    socket.on('close', () => resolve())
  })
}

await Promise.all(Array.from({ length: connections }, run))
const elapsed = (performance.now() - started) / 1000
latencies.sort((a, b) => a - b)
const at = (share: number): number => latencies[Math.floor(latencies.length * share)] ?? Number.NaN
const result: LoadResult = {
  requestsPerSecond: latencies.length / elapsed,
  p50: at(0.5),
  p99: at(0.99),
  failures,
}
process.stdout.write(JSON.stringify(result))
