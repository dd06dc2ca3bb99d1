import { once } from 'node:events'
import { Agent, get, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createLogger } from '../log.ts'
import { createDrain, type Drain, onCutOff } from './drain.ts'
import { streamArray } from './list-streams.ts'
import { createHttpServer, type HttpServer } from './server.ts'

let app: HttpServer
let drain: Drain
let url = ''
/** What the routes that wait wait for. */
let held: PromiseWithResolvers<void>
let arrived: PromiseWithResolvers<void>
const agent = new Agent({ keepAlive: true, maxSockets: 4 })

async function* rows(): AsyncGenerator<string[]> {
  yield ['first']
  await held.promise
  yield ['second']
}

beforeEach(async () => {
  held = Promise.withResolvers()
  arrived = Promise.withResolvers()
  app = await createHttpServer({
    log: createLogger({ level: 'silent' }),
    metrics: new Registry(),
    corsOrigins: [],
    bodyLimit: 1024,
    trustedProxies: [],
    https: false,
  })
  drain = createDrain(app)
  app.get('/', () => ({ here: true }))
  app.get('/waiting', async () => {
    arrived.resolve()
    await held.promise
    return { waited: true }
  })
  app.get('/list', (_request, reply) =>
    reply.type('application/json').send(streamArray(rows(), (row) => row)),
  )
  app.get('/events', (_request, reply) => {
    reply.hijack()
    reply.raw.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
    onCutOff(reply.raw, () => void reply.raw.end('data: stopped\n\n'))
  })
  await app.listen({ host: '127.0.0.1', port: 0 })
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`
})
afterEach(async () => {
  held.resolve()
  await drain.close(0)
})

async function ask(path: string): Promise<IncomingMessage> {
  const request = get(`${url}${path}`, { agent })
  const [answer] = (await once(request, 'response')) as [IncomingMessage]
  return answer
}

it('answers carry connection: close from its beginning, while requests are accepted', async () => {
  const before = await ask('/')
  expect(before.headers.connection).toBe('keep-alive')
  expect(await text(before)).toContain('here')
  drain.begin()
  for (const path of ['/', '/', '/nowhere']) {
    const during = await ask(path)
    expect(during.headers.connection, path).toBe('close')
    await text(during)
  }
})

it('accepts no connections, and waits for requests under way, whose connections end behind them', async () => {
  const slow = ask('/waiting')
  const list = await ask('/list')
  await arrived.promise
  const closed = drain.close(60_000)
  const attempt = (): Promise<unknown> =>
    ask('/').then(
      (answer) => text(answer),
      ({ code }: NodeJS.ErrnoException) => code,
    )
  await expect.poll(attempt).toBe('ECONNREFUSED')
  held.resolve()
  const answer = await slow
  expect(answer.headers.connection).toBe('close')
  expect(await text(answer)).toContain('waited')
  // Its head promised to keep the connection, which nobody will wait for.
  expect(list.headers.connection).toBe('keep-alive')
  expect(await text(list)).toBe('["first","second"]')
  await closed
})

it('cuts off what takes longer, each in its own way', async () => {
  const slow = ask('/waiting')
  const list = await ask('/list')
  const events = await ask('/events')
  await arrived.promise
  const accepted = once(app.server, 'connection')
  const half = connect(Number(new URL(url).port), '127.0.0.1')
  half.write('GET / HTTP/1.1\r\nHost: ')
  const halfEnded = once(half, 'close')
  await accepted
  const rest = text(list)
  const closed = drain.close(200)
  const refused = await slow
  expect(refused.statusCode).toBe(503)
  expect(refused.headers).toMatchObject({ connection: 'close', 'retry-after': '1' })
  expect(JSON.parse(await text(refused))).toEqual({
    error: { code: 503, message: 'The server stops before it could answer; send the request again' },
  })
  expect(await text(events)).toBe('data: 1\n\ndata: stopped\n\n')
  await expect(rest).rejects.toMatchObject({ code: 'ECONNRESET' })
  await closed
  half.resume()
  await halfEnded
})
