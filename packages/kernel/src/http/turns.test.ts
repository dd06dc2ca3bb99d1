import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { promisify } from 'node:util'
import { Registry } from 'prom-client'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createLogger } from '../log.ts'
import { hangUpOf, workFor, workOf } from '../tenant-work.ts'
import { createHttpServer, type HttpServer } from './server.ts'

const WAITING = 100

let app: HttpServer
let metrics: Registry
/** Tenants in the order in which their requests began. */
let begun: string[]

beforeEach(async () => {
  begun = []
  metrics = new Registry()
  app = await createHttpServer({
    log: createLogger({ level: 'silent' }),
    metrics,
    corsOrigins: [],
    bodyLimit: 1_000_000,
    waitingRequests: WAITING,
    trustedProxies: [],
    https: false,
  })
  app.get('/', {
    onRequest: async (request, reply) => {
      const { headers, raw } = request
      const turn = workFor(workOf(request), String(headers['x-tenant']), hangUpOf(raw, reply.raw))
      if (turn !== undefined) await turn
    },
    handler: async ({ headers }) => {
      begun.push(String(headers['x-tenant']))
      return 'done'
    },
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  // From here on the process is shared.
  for (const tenant of ['one', 'another']) await app.inject({ url: '/', headers: { 'x-tenant': tenant } })
  begun = []
})
afterEach(() => app.close())

/** A connection, and all that came on it. */
async function open(): Promise<{ socket: Socket; read: () => string }> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  let text = ''
  socket.setEncoding('latin1').on('data', (chunk) => {
    text += chunk
  })
  await once(socket, 'connect')
  return { socket, read: () => text }
}

/** So many requests in one write: the server reads them in one round of its event loop. */
const requests = (tenant: string, count: number): string =>
  `GET / HTTP/1.1\r\nhost: atrium\r\nx-tenant: ${tenant}\r\n\r\n`.repeat(count)

/** The statuses of so many answers on a connection. */
async function statuses({ read }: { read: () => string }, count: number): Promise<number[]> {
  const found = () => [...read().matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => Number(match[1]))
  await expect.poll(() => found().length, { timeout: 10_000 }).toBe(count)
  return found()
}

async function gauge(name: string): Promise<number> {
  const { values } = (await metrics.getSingleMetric(name)?.get()) ?? { values: [] }
  return values[0]?.value ?? Number.NaN
}

it('a tenant waits for a few requests of another, not for all that wait', async () => {
  const [attacker, neighbour] = [await open(), await open()]
  attacker.socket.write(requests('attacker', WAITING))
  neighbour.socket.write(requests('neighbour', 1))
  const answers = await Promise.all([statuses(attacker, WAITING), statuses(neighbour, 1)])
  expect(answers.flat()).toEqual(Array(WAITING + 1).fill(200))
  const place = begun.indexOf('neighbour')
  // Whoever is read second has at most those that began at once, and one of the other's turns, before it.
  expect([begun.length, place <= 17]).toEqual([WAITING + 1, true])
})

it('more requests of a tenant than may wait are refused, and its next are served', async () => {
  const [attacker, neighbour] = [await open(), await open()]
  attacker.socket.write(requests('attacker', 300))
  neighbour.socket.write(requests('neighbour', 5))
  const answers = await statuses(attacker, 300)
  const served = answers.filter((status) => status === 200).length
  const refused = answers.filter((status) => status === 503).length
  // Eight begin in a round.
  expect([served, refused]).toEqual([WAITING + 8, 192])
  expect(await statuses(neighbour, 5)).toEqual(Array(5).fill(200))
  attacker.socket.write(requests('attacker', 1))
  expect((await statuses(attacker, 301)).at(-1)).toBe(200)
  expect(await gauge('atrium_http_waiting_requests')).toBe(0)
})

it('a refusal says when to try again', async () => {
  const all = await Promise.all(
    Array.from({ length: 300 }, () => app.inject({ url: '/', headers: { 'x-tenant': 'attacker' } })),
  )
  const refused = all.filter(({ statusCode }) => statusCode === 503)
  expect(refused.length).toBeGreaterThan(0)
  expect(new Set(refused.map(({ headers }) => headers['retry-after']))).toEqual(new Set(['1']))
})

it('a caller that hangs up while it waits leaves nothing behind, and its request never begins', async () => {
  const sockets = await Promise.all(Array.from({ length: WAITING + 8 }, open))
  // The server accepts one in a round.
  await expect.poll(() => promisify(app.server.getConnections.bind(app.server))()).toBe(sockets.length)
  for (const { socket } of sockets) {
    socket.write(requests('attacker', 1))
    socket.destroy()
  }
  const neighbour = await open()
  neighbour.socket.write(requests('neighbour', 1))
  expect(await statuses(neighbour, 1)).toEqual([200])
  await expect.poll(() => gauge('atrium_http_waiting_requests')).toBe(0)
  expect(begun.filter((tenant) => tenant === 'attacker').length).toBeLessThan(WAITING + 8)
})

it('a tenant that is alone does not wait, and is not refused', async () => {
  const alone = await createHttpServer({
    log: createLogger({ level: 'silent' }),
    metrics: new Registry(),
    corsOrigins: [],
    bodyLimit: 1000,
    waitingRequests: 1,
    trustedProxies: [],
    https: false,
  })
  alone.get('/', {
    onRequest: async (request, reply) => {
      const turn = workFor(workOf(request), 'alone', hangUpOf(request.raw, reply.raw))
      if (turn !== undefined) await turn
    },
    handler: async () => 'done',
  })
  const answers = await Promise.all(Array.from({ length: 100 }, () => alone.inject('/')))
  expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
  await alone.close()
})
