import { request } from 'node:http'
import { connect } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import Type from 'typebox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { AppError } from '../errors.ts'
import { createLogger } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { named, optionalBody, textLike } from './contract.ts'
import { createHttpServer, type HttpServer } from './server.ts'
import { mountService } from './service.ts'

const lines: string[] = []
let app: HttpServer
let url = ''

beforeAll(async () => {
  const log = createLogger({ level: 'debug', destination: { write: (line) => void lines.push(line) } })
  app = await createHttpServer({
    log,
    metrics: createMetrics({ processMetrics: false }),
    corsOrigins: ['https://console.example'],
    bodyLimit: 2048,
    trustedProxies: [],
    https: true,
  })
  await mountService(app, {
    prefix: '/things',
    title: 'Things',
    description: 'For this test',
    version: '1.0.0',
    formatError: ({ status, code, message, field }) => ({ oops: { status, code, message, field } }),
    errorBody: named('Oops', Type.Object({ oops: Type.Object({ status: Type.Integer() }) })),
    routes: (scope) => {
      const thing = Type.Object({ name: Type.String({ minLength: 1 }), size: Type.Integer() })
      scope.post(
        '/v1/things',
        { config: { operationId: 'createThing' }, schema: { body: thing } },
        (request) => request.body,
      )
      const detailed = Type.Object({
        name: textLike('\\S', 'not be blank'),
        size: Type.Integer(),
        colour: Type.Unsafe({ type: 'string', enum: ['red', 'blue'] }),
        mail: Type.Optional(textLike('@', 'be an e-mail address')),
        limit: Type.Optional(Type.Union([Type.Integer({ minimum: 1 }), Type.Null()])),
        when: Type.Optional(Type.String({ format: 'date-time' })),
      })
      scope.post('/v1/detailed', { config: { operationId: 'a' }, schema: { body: detailed } }, () => ({}))
      const lists = Type.Object({ names: Type.Array(Type.String()) })
      scope.post('/v1/lists', { config: { operationId: 'b' }, schema: { body: lists } }, () => ({}))
      scope.post('/v1/things/:id([^/]+)::rotate', { config: { operationId: 'c' } }, (request) => ({
        rotated: (request.params as { id: string }).id,
      }))
      scope.get('/v1/things/:id', { config: { operationId: 'getThing' } }, (request) => ({
        id: (request.params as { id: string }).id,
      }))
      const Sort = Type.Object({ by: Type.Optional(Type.String()) })
      scope.get('/v1/sorted', { config: { operationId: 'd' }, schema: { querystring: Sort } }, () => ({}))
      scope.delete('/v1/things/:id', { config: { operationId: 'deleteThing' } }, (request) => ({
        body: request.body ?? null,
      }))
      scope.route({
        method: 'QUERY',
        url: '/v1/things',
        config: { operationId: 'queryThings' },
        schema: {
          body: optionalBody(Type.Object({ metadata: Type.Optional(Type.Object({})) })),
        },
        handler: (request) => ({ body: request.body ?? null }),
      })
      scope.get('/v1/broken', { config: { operationId: 'breakThing' } }, () => {
        throw new Error('the secret is 42')
      })
      scope.get('/v1/busy', { config: { operationId: 'busyThing' } }, () => {
        throw new AppError(429, 'busy', 'Later', { headers: { 'retry-after': '7' } })
      })
    },
  })
  url = await app.listen({ host: '127.0.0.1', port: 0 })
})
afterAll(() => app.close())

async function call(method: string, path: string, body?: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  }
}
const json = { 'content-type': 'application/json' }

describe('a mounted service', () => {
  it('answers with security headers and the caller’s request id', async () => {
    const answer = await call('GET', '/things/v1/things/7', undefined, { 'x-request-id': 'trace-1' })
    expect(answer.body).toEqual({ id: '7' })
    expect(answer.headers.get('x-request-id')).toBe('trace-1')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('strict-transport-security')).toContain('max-age')
    const other = await call('GET', '/things/v1/things/7', undefined, { 'x-request-id': 'a b\tc' })
    expect(other.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
  })

  it('names the field and the reason of bad input in its own shape', async () => {
    expect((await call('POST', '/things/v1/things', '{"name":"a","size":"5"}', json)).body.oops).toEqual({
      status: 400,
      code: 'invalid_input',
      message: 'body.size must be an integer',
      field: 'body.size',
    })
    expect((await call('POST', '/things/v1/things', '{"name":"a"}', json)).body.oops.message).toBe(
      'body.size is required',
    )
    expect((await call('POST', '/things/v1/things', undefined, json)).body.oops).toMatchObject({
      status: 400,
    })
  })

  it('names everything that is wrong with a body, in words', async () => {
    const send = async (body: unknown) =>
      (await call('POST', '/things/v1/detailed', JSON.stringify(body), json)).body.oops
    expect(await send({ size: 'x', name: ' ', mail: 'a', limit: 'b', when: 'now' })).toMatchObject({
      field: 'body.colour',
      message:
        'body.colour is required; body.name must not be blank; body.size must be an integer; ' +
        'body.mail must be an e-mail address; body.limit must be an integer or null; ' +
        'body.when must be a date and time with its zone, like 2026-03-01T12:00:00Z',
    })
    expect((await send({ name: 'a', size: 1, colour: 'green' })).message).toBe(
      'body.colour must be one of red, blue',
    )
    expect((await send({ name: 'a', size: 1, colour: 'red', limit: 0 })).message).toBe(
      'body.limit must be 1 or more',
    )
  })

  it('tells no more faults than a reader wants, and looks for no more than a small body has', async () => {
    const send = async (names: unknown[]) =>
      (await call('POST', '/things/v1/lists', JSON.stringify({ names }), json)).body.oops.message as string
    const some = await send(Array.from({ length: 30 }, () => 1))
    expect([some.split('; ').length, some.endsWith('; and 20 more')]).toEqual([11, true])
    expect(await send(Array.from({ length: 1000 }, () => 1))).toBe('body.names.0 must be a string')
  })

  it('answers unknown routes before it looks at their bodies', async () => {
    expect((await call('QUERY', '/things/v1/nothing', 'x', { 'content-type': 'a/b' })).status).toBe(404)
    const wrong = await call('QUERY', '/things/v1/things/7')
    expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'DELETE, GET, HEAD, OPTIONS'])
    const action = await call('DELETE', '/things/v1/things/7:rotate')
    expect([action.status, action.headers.get('allow')]).toEqual([405, 'OPTIONS, POST'])
    expect((await call('POST', '/things/v1/things/7:rotate')).body).toEqual({ rotated: '7' })
    expect((await call('GET', '/things/v1/things/7%3Arotate')).body).toEqual({ id: '7:rotate' })
  })

  it('answers a plain OPTIONS with what the path allows', async () => {
    const plain = await call('OPTIONS', '/things/v1/things/7')
    expect([plain.status, plain.headers.get('allow')]).toEqual([204, 'DELETE, GET, HEAD, OPTIONS'])
    expect(plain.headers.get('x-content-type-options')).toBe('nosniff')
    const unknown = await call('OPTIONS', '/things/v1/nothing')
    expect([unknown.status, unknown.body.oops.code]).toEqual([404, 'route_not_found'])
  })

  it.each([
    ['a path that cannot be decoded', 'GET /things/%zz HTTP/1.1\r\nhost: a\r\n\r\n', 400],
    [
      'a part of a path that is too long',
      `GET /things/v1/things/${'x'.repeat(300)} HTTP/1.1\r\nhost: a\r\n\r\n`,
      414,
    ],
    ['what is no HTTP', 'GET /things/v1 HTTP/9\r\n\r\n', 400],
    [
      'headers that are too large',
      `GET /things/v1 HTTP/1.1\r\nhost: a\r\nx: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
    ],
  ])(
    'answers %s in the service’s shape, with the headers of every answer',
    async (_what, message, status) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1')
      socket.end(message)
      const text = (await socket.setEncoding('latin1').toArray()).join('')
      expect(text).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
      expect(text).toMatch(/^x-content-type-options: nosniff\r$/m)
      expect(text).toMatch(/^x-request-id: \S+\r$/m)
      expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n'))).oops).toMatchObject({ status })
    },
  )

  it.each([
    ['not JSON', '{', json, 400, 'invalid_json'],
    [
      'another content type',
      'a=b',
      { 'content-type': 'application/x-www-form-urlencoded' },
      400,
      'invalid_content_type',
    ],
    ['too deep', '['.repeat(900) + ']'.repeat(900), json, 400, 'json_too_deep'],
    ['too large', JSON.stringify({ name: 'x'.repeat(3000) }), json, 413, 'body_too_large'],
    ['NUL', '{"name":"\\u0000","size":1}', json, 400, 'invalid_input'],
  ])('refuses a body that is %s', async (_, body, headers, status, code) => {
    const answer = await call('POST', '/things/v1/things', body, headers)
    expect([answer.status, answer.body.oops.code]).toEqual([status, code])
  })

  it.each([
    ['with its length', { 'content-length': 8_000_000 }, false],
    ['in chunks', { 'transfer-encoding': 'chunked' }, false],
    ['with a length that nobody would wait for', { 'content-length': 2 ** 31 }, true],
  ])('lets a body be sent to its end that is too large, %s', async (_how, length, closes) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; closes: boolean }>()
    const call = request(`${url}/things/v1/things`, { method: 'POST', headers: { ...json, ...length } })
    call.on('error', reject).on('response', (response) => {
      response.resume()
      resolve({ status: response.statusCode ?? 0, closes: response.headers.connection === 'close' })
    })
    if (closes) call.flushHeaders()
    else {
      // Each piece after the answer is still taken.
      for (let sent = 0; sent < 8; sent++) {
        await new Promise((resolve) => call.write(' '.repeat(1_000_000), resolve))
        await delay(5)
      }
      call.end()
    }
    expect(await promise).toEqual({ status: 413, closes })
  })

  it('answers 404 and 405 with Allow in the service’s shape, and 404 outside', async () => {
    expect((await call('GET', '/things/v1/nothing')).body.oops.code).toBe('route_not_found')
    const wrong = await call('PUT', '/things/v1/things/7', '{}', json)
    expect([wrong.status, wrong.headers.get('allow'), wrong.body.oops.code]).toEqual([
      405,
      'DELETE, GET, HEAD, OPTIONS',
      'method_not_allowed',
    ])
    expect((await call('GET', '/things/v1/things/%00')).body.oops).toMatchObject({
      status: 404,
      code: 'route_not_found',
    })
    expect((await call('GET', '/things/v1/things/7?any=%00')).status).toBe(200)
    expect((await call('GET', '/things/v1/sorted?by=%00')).body.oops).toMatchObject({
      status: 400,
      field: 'query',
    })
    expect((await call('GET', '/things/v1/things/%zz')).status).toBe(400)
  })

  it('hides what went wrong inside, but logs it with the request id', async () => {
    const answer = await call('GET', '/things/v1/broken', undefined, { 'x-request-id': 'find-me' })
    expect(answer.status).toBe(500)
    expect(JSON.stringify(answer.body)).not.toContain('42')
    expect(lines.some((line) => line.includes('find-me') && line.includes('the secret is 42'))).toBe(true)
  })

  it('passes an error’s own headers on', async () => {
    expect((await call('GET', '/things/v1/busy')).headers.get('retry-after')).toBe('7')
  })

  it('takes QUERY with a body, without one, and without a content type', async () => {
    expect((await call('QUERY', '/things/v1/things', '{"metadata":{}}', json)).body).toEqual({
      body: { metadata: {} },
    })
    expect((await call('QUERY', '/things/v1/things', undefined, json)).body).toEqual({ body: {} })
    expect((await call('QUERY', '/things/v1/things')).body).toEqual({ body: {} })
  })

  it('takes a DELETE with a JSON content type and no body', async () => {
    expect((await call('DELETE', '/things/v1/things/7', undefined, json)).status).toBe(200)
  })

  it('allows the listed origins, QUERY included', async () => {
    const answer = await call('OPTIONS', '/things/v1/things', undefined, {
      origin: 'https://console.example',
      'access-control-request-method': 'QUERY',
    })
    expect(answer.headers.get('access-control-allow-origin')).toBe('https://console.example')
    expect(answer.headers.get('access-control-allow-methods')).toContain('QUERY')
  })

  it('describes itself by OpenAPI 3.2 and serves its reference', async () => {
    const document = (await call('GET', '/things/openapi.json')).body
    expect(document.openapi).toBe('3.2.0')
    expect(Object.keys(document.paths)).toContain('/v1/things/{id}')
    expect(document.paths['/v1/things'].query).toMatchObject({
      operationId: 'queryThings',
      requestBody: { required: false },
    })
    const docs = await fetch(`${url}/things/docs/`)
    expect([docs.status, docs.headers.get('content-type')]).toEqual([
      200,
      expect.stringContaining('text/html'),
    ])
  })
})

it('a route without a name, which no access table knows, is not mounted', async () => {
  const log = createLogger({ level: 'silent' })
  const lonely = await createHttpServer({
    log,
    metrics: createMetrics({ processMetrics: false }),
    corsOrigins: [],
    bodyLimit: 1024,
    trustedProxies: [],
    https: false,
  })
  const mounted = mountService(lonely, {
    prefix: '/nameless',
    title: 'Nameless',
    description: 'For this test',
    version: '1.0.0',
    formatError: ({ message }) => ({ message }),
    errorBody: named('Failure', Type.Object({ message: Type.String() })),
    routes: (scope) => {
      scope.get('/v1/open', () => ({}))
    },
  })
  await expect(mounted.then(() => lonely.ready())).rejects.toThrow(
    'GET /nameless/v1/open has no config.operationId',
  )
  await lonely.close()
})

describe('the log', () => {
  it('never holds credentials', () => {
    const seen: string[] = []
    const log = createLogger({ level: 'info', destination: { write: (line) => void seen.push(line) } })
    log.info(
      {
        headers: { authorization: 'Bearer abc' },
        apiKey: 'abc',
        nested: { password: 'abc' },
        client_secret: 'abc',
      },
      'm',
    )
    const error = Object.assign(new Error('it broke', { cause: new Error('deep') }), {
      code: '57P01',
      client: { password: 'abc' },
    })
    log.error({ err: error }, 'm')
    expect(seen.join('')).not.toContain('abc')
    expect(JSON.parse(seen.at(-1) ?? '').err).toMatchObject({
      message: 'it broke',
      code: '57P01',
      cause: { message: 'deep' },
    })
  })
})
