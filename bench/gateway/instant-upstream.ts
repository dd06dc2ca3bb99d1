// An upstream that answers at once, in a process of its own: the bytes of the fake OpenAI's answer, straight on
// a socket, so that two cores are spent on the gateways and not on it. Argument: the port.
import { createServer } from 'node:net'
import { startFakeOpenAi } from '@atrium/testing/fake-openai'

async function renderAnswer(): Promise<Buffer> {
  await using fake = await startFakeOpenAi()
  const answer = await fetch(`${fake.url}/chat/completions`, { method: 'POST', body: '{"model":"gpt-4o"}' })
  return Buffer.from(await answer.arrayBuffer())
}

const respond = (type: string, body: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from(
      `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\nx-request-id: req_fake\r\nconnection: keep-alive\r\nkeep-alive: timeout=60\r\ncontent-length: ${body.length}\r\n\r\n`,
    ),
    body,
  ])

const completion = respond('application/json', await renderAnswer())
const models = respond(
  'application/json',
  Buffer.from('{"object":"list","data":[{"id":"gpt-4o","object":"model","created":0,"owned_by":"fake"}]}'),
)

const server = createServer((socket) => {
  let held = ''
  socket.setNoDelay(true)
  socket.on('error', () => {})
  socket.on('data', (data) => {
    held += data.toString('latin1')
    for (;;) {
      const headEnd = held.indexOf('\r\n\r\n')
      if (headEnd === -1) return
      const length = Number(/content-length: *(\d+)/i.exec(held.slice(0, headEnd))?.[1] ?? 0)
      if (held.length < headEnd + 4 + length) return
      socket.write(held.startsWith('GET') ? models : completion)
      held = held.slice(headEnd + 4 + length)
    }
  })
})
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => process.send?.('ready'))
