// One tenant at its worst, in a process of its own: sends its calls as fast as they are answered, or sends them once and
// never reads. Ends with SIGTERM, and then prints how many answers of which status there were.
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { bytesOf, type Call, clientOf } from './calls.ts'

export interface AttackerOptions {
  readonly port: number
  readonly connections: number
  readonly calls: readonly Call[]
  readonly unread?: boolean
  /** Calls a second, all connections together; as fast as they are answered by default. */
  readonly perSecond?: number
}

const { port, connections, calls, unread, perSecond } = (
  (await once(process, 'message')) as [AttackerOptions]
)[0]
const statuses: Record<string, number> = {}
let answers = 0
const bodies = calls.map(({ body }) => bytesOf(body))

function ask({ method, path, headers, body }: Call): void {
  const bytes = bytesOf(body)
  const length = bytes === undefined ? {} : { 'content-length': String(bytes.length) }
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => {})
  socket.pause()
  socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n`)
  if (bytes !== undefined) socket.write(bytes)
  statuses.unread = (statuses.unread ?? 0) + 1
}

async function flood(nth: number): Promise<void> {
  const client = clientOf(port, 1)
  const everyMs = perSecond === undefined ? 0 : (1000 * connections) / perSecond
  await delay((everyMs * nth) / connections)
  for (let i = nth; ; i++) {
    const began = performance.now()
    const at = i % calls.length
    const call = calls[at]
    if (call === undefined) return
    const status = await client(call, bodies[at]).catch(async () => {
      await delay(50)
      return 'broken'
    })
    statuses[status] = (statuses[status] ?? 0) + 1
    if (++answers === 1) process.send?.('answered')
    const left = everyMs - (performance.now() - began)
    if (left > 0) await delay(left)
  }
}

process.once('SIGTERM', () => {
  process.stdout.write(JSON.stringify(statuses), () => process.exit(0))
})
for (let nth = 0; nth < connections; nth++) {
  const call = calls[nth % calls.length]
  if (unread !== true) void flood(nth)
  else if (call !== undefined) ask(call)
}
// Sockets that are not read keep nothing alive.
setInterval(() => {}, 1000)
process.send?.('ready')
