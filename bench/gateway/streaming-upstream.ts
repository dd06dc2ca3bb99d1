// An upstream that streams, in a process of its own: the bytes of the fake OpenAI's stream, straight on sockets and
// by one timer for all, so that two cores are spent on the gateway and not on it. Streams keep the phase in which
// they began, as independent ones do. Arguments: port, chunks of a stream, milliseconds between them.
import { createServer, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { startFakeOpenAi } from '@atrium/testing/fake-openai'

const [port = '0', chunks = '200', intervalMs = '20'] = process.argv.slice(2)
const SLOTS = 10
const HEAD =
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\nconnection: keep-alive\r\ntransfer-encoding: chunked\r\n\r\n'
const MODELS = '{"object":"list","data":[{"id":"gpt-4o","object":"model","created":0,"owned_by":"fake"}]}'

/** The events as HTTP chunks; the last one ends the body. */
async function renderEvents(): Promise<Buffer[]> {
  const pieces = Array.from({ length: Number(chunks) }, (_, i) => `${i} `)
  await using fake = await startFakeOpenAi({ behaviour: { pieces } })
  const body = '{"model":"gpt-4o","stream":true}'
  const text = await (await fetch(`${fake.url}/chat/completions`, { method: 'POST', body })).text()
  const events = text.split('\n\n').filter((event) => event !== '')
  return events.map((event, i) => {
    const size = (Buffer.byteLength(event) + 2).toString(16)
    return Buffer.from(`${size}\r\n${event}\n\n\r\n${i === events.length - 1 ? '0\r\n\r\n' : ''}`)
  })
}

const events = await renderEvents()
const slots: Map<Socket, number>[] = Array.from({ length: SLOTS }, () => new Map())
let slot = 0
let dueAt = performance.now()

setInterval(() => {
  for (; dueAt <= performance.now(); dueAt += Number(intervalMs) / SLOTS) {
    slot = (slot + 1) % SLOTS
    const streams = slots[slot] ?? new Map<Socket, number>()
    for (const [socket, next] of streams) {
      const event = events[next]
      if (event === undefined || socket.destroyed) streams.delete(socket)
      else {
        socket.write(event)
        streams.set(socket, next + 1)
      }
    }
  }
}, 1)

const server = createServer((socket) => {
  let held = ''
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.on('data', (data) => {
    held += data.toString('latin1')
    const headEnd = held.indexOf('\r\n\r\n')
    const length = Number(/content-length: *(\d+)/i.exec(held)?.[1] ?? 0)
    if (headEnd === -1 || held.length < headEnd + 4 + length) return
    const isModels = held.startsWith('GET')
    held = held.slice(headEnd + 4 + length)
    if (isModels) {
      socket.write(
        `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${MODELS.length}\r\n\r\n${MODELS}`,
      )
      return
    }
    socket.write(Buffer.concat([Buffer.from(HEAD), events[0] ?? Buffer.alloc(0)]))
    slots[slot]?.set(socket, 1)
  })
})
server.listen(Number(port), '127.0.0.1', () => process.send?.('ready'))
