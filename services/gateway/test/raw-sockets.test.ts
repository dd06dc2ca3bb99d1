import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { hello, startWithFake } from './platform.ts'

let gateway: Awaited<ReturnType<typeof startWithFake>>
beforeAll(async () => {
  gateway = await startWithFake()
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(() => {
  gateway.fake.requests.length = 0
})

const streamed = JSON.stringify({ ...hello, stream: true })

function head(version: '1.0' | '1.1', more: readonly string[] = []): string {
  return [
    `POST /llm/v1/chat/completions HTTP/${version}`,
    'host: atrium',
    `authorization: Bearer ${gateway.space.apiKey}`,
    'content-type: application/json',
    `content-length: ${Buffer.byteLength(streamed)}`,
    ...more,
    '\r\n',
  ].join('\r\n')
}

async function open(): Promise<Socket> {
  const { hostname, port } = new URL(gateway.platform.url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  return socket
}

async function readAll(socket: Socket): Promise<string> {
  const parts: Buffer[] = []
  for await (const part of socket) parts.push(part as Buffer)
  return Buffer.concat(parts).toString('utf8')
}

/** The answers in the bytes of a connection, their bodies out of chunked coding. */
function answersIn(text: string): { head: string; body: string }[] {
  const bytes = Buffer.from(text)
  const answers: { head: string; body: string }[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\r\n\r\n', at)
    const answer = { head: bytes.toString('utf8', at, end), body: '' }
    const parts: Buffer[] = []
    at = end + 4
    for (;;) {
      const line = bytes.indexOf('\r\n', at)
      const size = Number.parseInt(bytes.toString('latin1', at, line), 16)
      if (!Number.isInteger(size))
        throw new Error(`no chunk at ${at}: ${bytes.toString('utf8', at, at + 40)}`)
      parts.push(bytes.subarray(line + 2, line + 2 + size))
      expect(bytes.toString('latin1', line + 2 + size, line + 4 + size)).toBe('\r\n')
      at = line + 4 + size
      if (size === 0) break
    }
    answer.body = Buffer.concat(parts).toString('utf8')
    answers.push(answer)
  }
  return answers
}

const direct = async (): Promise<string> =>
  (await fetch(`${gateway.fake.url}/chat/completions`, { method: 'POST', body: streamed })).text()

test('two pipelined streams come one after the other, whole', async () => {
  const slow = { pieces: Array.from({ length: 40 }, (_, i) => `slow ${i}`), intervalMs: 3 }
  const fast = { pieces: Array.from({ length: 40 }, (_, i) => `fast ${i} ${'x'.repeat(2000)}`) }
  gateway.fake.next(slow, fast)
  const expected = [await direct(), await direct()]
  for (const [first, second] of [
    [slow, fast],
    [fast, slow],
  ] as const) {
    gateway.fake.next(first, second)
    const before = gateway.fake.requests.length
    const socket = await open()
    socket.write(head('1.1') + streamed)
    // The fake behaves as planned in the order of arrival.
    await expect.poll(() => gateway.fake.requests.length).toBe(before + 1)
    socket.write(head('1.1', ['connection: close']) + streamed)
    const answers = answersIn(await readAll(socket))
    expect(answers.map(({ body }) => body)).toEqual(first === slow ? expected : [...expected].reverse())
  }
})

test('a connection that breaks stops the pipelined streams behind the first, too', async () => {
  const endless = { pieces: Array.from({ length: 3000 }, () => 'word '), intervalMs: 5 }
  gateway.fake.next(endless, endless)
  const socket = await open()
  socket.write(head('1.1') + streamed + head('1.1') + streamed)
  await expect.poll(() => gateway.fake.requests.length).toBe(2)
  await once(socket, 'data')
  socket.destroy()
  await expect.poll(() => gateway.fake.requests.map(({ aborted }) => aborted)).toEqual([true, true])
})

test('HTTP/1.0 gets the events without chunked coding, and the end of the connection', async () => {
  gateway.fake.next({ pieces: ['a', 'b', 'ž'], intervalMs: 5 })
  const socket = await open()
  socket.write(head('1.0') + streamed)
  const [headers = '', body] = (await readAll(socket)).split(/\r\n\r\n([\s\S]*)/)
  expect(headers).not.toMatch(/transfer-encoding/i)
  gateway.fake.next({ pieces: ['a', 'b', 'ž'] })
  expect(body).toBe(await direct())
})

test('a slow reader loses nothing', async () => {
  const slow = { pieces: Array.from({ length: 3000 }, (_, i) => `${i} ${'x'.repeat(3000)}`) }
  gateway.fake.next(slow, slow)
  const expected = await direct()
  const socket = await open()
  socket.write(head('1.1', ['connection: close']) + streamed)
  const parts: Buffer[] = []
  let read = 0
  for await (const part of socket) {
    parts.push(part as Buffer)
    read += (part as Buffer).length
    if (read > 1_000_000) {
      read = 0
      await delay(15)
    }
  }
  const [answer, ...more] = answersIn(Buffer.concat(parts).toString('utf8'))
  expect(more).toEqual([])
  expect(answer?.body === expected).toBe(true)
}, 20_000)

test('a backend that sends all at once, without usage, loses no end', async () => {
  const atOnce = { writeBytes: 1_000_000 }
  gateway.fake.next(atOnce, atOnce)
  const expected = await direct()
  expect(await (await gateway.raw(streamed)).text()).toBe(expected)
})

test('one connection carries a hundred streams and piles up no listeners', async () => {
  const warnings: Error[] = []
  const warn = (warning: Error) => void warnings.push(warning)
  process.on('warning', warn)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const expected = await direct()
  const sockets = new Set<Socket>()
  const one = (i: number) =>
    new Promise<string>((resolve, reject) => {
      const call = request(`${gateway.platform.url}/llm/v1/chat/completions`, {
        agent,
        method: 'POST',
        headers: { authorization: `Bearer ${gateway.space.apiKey}`, 'content-type': 'application/json' },
      })
      call.on('error', reject).on('socket', (socket: Socket) => sockets.add(socket))
      call.on('response', async (response) => {
        let text = ''
        for await (const part of response.setEncoding('utf8')) text += part
        resolve(text)
      })
      call.end(i % 3 === 2 ? JSON.stringify(hello) : streamed)
    })
  for (let i = 0; i < 100; i++) {
    const text = await one(i)
    if (i % 3 === 2) expect(JSON.parse(text).usage.total_tokens).toBe(30)
    else expect(text).toBe(expected)
  }
  agent.destroy()
  process.off('warning', warn)
  expect(sockets.size).toBe(1)
  expect(warnings.map(({ message }) => message)).toEqual([])
})
