import { request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import Fastify from 'fastify'
import { Registry } from 'prom-client'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { AppError } from '../errors.ts'
import { createLogger } from '../log.ts'
import { newTenantWork, parseAtPace, TenantTurns } from '../tenant-work.ts'
import { type BodyMemory, readBody, readJsonBodies, streamJsonBodies } from './bodies.ts'
import { createHttpServer, type HttpServer } from './server.ts'

const LIMIT = 300_000
/** Counts what is lent. */
const lent = new Set<ArrayBufferLike>()
const memory: BodyMemory = {
  take: (bytes) => {
    const taken = Buffer.from(new SharedArrayBuffer(bytes))
    lent.add(taken.buffer)
    return taken
  },
  giveBack: ({ buffer }) => {
    if (!lent.delete(buffer)) throw new Error('given back twice, or never lent')
  },
}
const failures: string[] = []
let app: HttpServer
let port = 0

beforeAll(async () => {
  app = Fastify() as unknown as HttpServer
  streamJsonBodies(app)
  app.post('/', async (message) => {
    try {
      const body = await readBody(message.body as never, LIMIT, memory)
      if (body === undefined) return 'nothing'
      const text = body.toString('utf8')
      memory.giveBack(body)
      return text
    } catch (error) {
      failures.push((error as AppError).code)
      throw error
    }
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  port = (app.server.address() as AddressInfo).port
})
afterAll(() => app.close())

/** Sends pieces one by one, with or without saying how long they are together. */
async function send(
  pieces: readonly string[],
  announced: boolean,
): Promise<{ status: number; text: string }> {
  const length = pieces.reduce((sum, piece) => sum + Buffer.byteLength(piece), 0)
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; text: string }>()
  const call = request({
    port,
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(announced ? { 'content-length': length } : {}) },
  })
  call.on('error', reject).on('response', async (response) => {
    const text = Buffer.concat(await response.toArray()).toString('utf8')
    resolve({ status: response.statusCode ?? 0, text })
  })
  for (const piece of pieces) {
    call.write(piece)
    await delay(2)
  }
  call.end()
  return promise
}

describe.each([
  ['announced', true],
  ['in chunks', false],
])('a body that is read by its handler, %s', (_how, announced) => {
  it.each([1, 7, 8, 4093, 65_536, 200_001])('comes as it was sent, in pieces of %i bytes', async (size) => {
    const text = Array.from({ length: 200_001 }, (_, at) => String.fromCharCode(33 + (at % 90))).join('')
    const pieces =
      size < 100
        ? [text.slice(0, size), text.slice(size)]
        : (text.match(new RegExp(`.{1,${size}}`, 'g')) ?? [])
    expect(await send(pieces, announced)).toEqual({ status: 200, text })
    expect(lent.size).toBe(0)
  })

  it('may be as long as the limit, and no longer', async () => {
    expect((await send(['x'.repeat(LIMIT)], announced)).text.length).toBe(LIMIT)
    const long = await send(['x'.repeat(LIMIT), 'x', 'x'.repeat(LIMIT)], announced)
    expect([long.status, JSON.parse(long.text).code]).toEqual([413, 'body_too_large'])
    expect(lent.size).toBe(0)
  })
})

it('is undefined when nothing comes', async () => {
  expect(await send([], true)).toEqual({ status: 200, text: 'nothing' })
  expect(await send([], false)).toEqual({ status: 200, text: 'nothing' })
  expect(lent.size).toBe(0)
})

it('gives its memory back when the client goes away', async () => {
  failures.length = 0
  const call = request({
    port,
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': 1000 },
  })
  call.on('error', () => {})
  call.write('[1')
  await expect.poll(() => lent.size).toBe(1)
  call.destroy()
  await expect.poll(() => failures).toEqual(['incomplete_body'])
  expect(lent.size).toBe(0)
})

describe('large bodies that come at once', () => {
  it('are parsed one a round of the event loop', async () => {
    const server = await createHttpServer({
      log: createLogger({ level: 'silent' }),
      metrics: new Registry(),
      corsOrigins: [],
      bodyLimit: 200_000,
      trustedProxies: [],
      https: false,
    })
    let round = 0
    let isOver = false
    const count = (): void => {
      round += 1
      if (!isOver) setImmediate(count)
    }
    const rounds: number[] = []
    readJsonBodies(server, (body) => {
      rounds.push(round)
      return JSON.parse(body.toString('utf8')) as unknown
    })
    server.post('/', async () => 'read')
    setImmediate(count)
    const payload = JSON.stringify('x'.repeat(100_000))
    const headers = { 'content-type': 'application/json' }
    const post = () => server.inject({ method: 'POST', url: '/', headers, payload })
    const answers = await Promise.all(Array.from({ length: 8 }, post))
    isOver = true
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(8).fill(200))
    expect(new Set(rounds).size).toBe(8)
    await server.close()
  })
})

describe('a tenant’s large bodies', () => {
  it('are parsed one after the other, and another tenant’s between them', async () => {
    const order: string[] = []
    const turns = new TenantTurns({ ofTenant: 1, ofAll: 1, refusal: () => new Error('too busy') })
    const gate = Promise.withResolvers<void>()
    const parseFor = (tenant: string, wait?: Promise<void>): Promise<void> => {
      const work = newTenantWork({}, turns)
      work.tenant = tenant
      const parse = async (): Promise<void> => {
        order.push(`${tenant} begins`)
        await wait
        order.push(`${tenant} ends`)
      }
      return parseAtPace(1000, parse, work)
    }
    const first = parseFor('a', gate.promise)
    const second = parseFor('a')
    await parseFor('b')
    expect(order).toEqual(['a begins', 'b begins', 'b ends'])
    gate.resolve()
    await Promise.all([first, second])
    expect(order.slice(3)).toEqual(['a ends', 'a begins', 'a ends'])
    await expect.poll(() => turns.bodies.size).toBe(0)
  })

  it('say so when they cannot be parsed, and the next is', async () => {
    const turns = new TenantTurns({ ofTenant: 1, ofAll: 1, refusal: () => new Error('too busy') })
    const work = newTenantWork({}, turns)
    const failing = async (): Promise<void> => {
      throw new Error('no JSON')
    }
    await expect(parseAtPace(1000, failing, work)).rejects.toThrow('no JSON')
    expect(await parseAtPace(1000, async () => 'read', work)).toBe('read')
  })
})
