import { startTestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ask, embed, MODEL } from './embed.ts'
import { hello, startWithFake, waitForUsage } from './platform.ts'

let gateway: Awaited<ReturnType<typeof startWithFake>>
beforeAll(async () => {
  gateway = await startWithFake()
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(() => {
  gateway.fake.requests.length = 0
})

const sent = (): string => gateway.fake.requests.at(-1)?.body.toString() ?? ''

describe('passing on', () => {
  test('works with the official client, which asks for base64', async () => {
    const answer = await gateway.client.embeddings.create({ ...ask, input: ['a', 'b'], dimensions: 64 })
    expect(JSON.parse(sent())).toMatchObject({ encoding_format: 'base64', dimensions: 64 })
    expect(answer.data.map(({ index, embedding }) => [index, embedding.length])).toEqual([
      [0, 64],
      [1, 64],
    ])
    const floats = await gateway.client.embeddings.create({
      ...ask,
      input: 'a',
      encoding_format: 'float',
      dimensions: 64,
    })
    expect(answer.data[0]?.embedding).toEqual(floats.data[0]?.embedding)
    expect(floats.usage).toEqual({ prompt_tokens: 1, total_tokens: 1 })
  })

  test.each<[string, string | string[] | number[] | number[][], number]>([
    ['a text', 'a text', 1],
    ['texts', ['a', 'b', 'c'], 3],
    ['tokens', [1, 2, 3], 1],
    ['lists of tokens', [[1, 2], [3]], 2],
    ['2,048 texts', Array.from({ length: 2048 }, (_, i) => `${i}`), 2048],
    ['more tokens than texts are allowed', Array.from({ length: 3000 }, () => 7), 1],
  ])('%s', async (_name, input, count) => {
    const answer = await embed(gateway, { model: MODEL, input, dimensions: 8, user: 'somebody' })
    expect(answer.status).toBe(200)
    expect(answer.body.data).toHaveLength(count)
    expect(JSON.parse(sent()).input).toEqual(input)
  })

  test('both ways byte for byte, unknown fields, spacing and escapes included', async () => {
    const body = `{ "input" : ["p\\u0159\\u00edli\\u0161 🦊"],\n\t"model":"${MODEL}", "dimensions": 8, "x_unknown": [1e3, 0.10] }`
    const request = (url: string, key: string) =>
      fetch(`${url}/embeddings`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body,
      })
    const through = await request(`${gateway.platform.url}/llm/v1`, gateway.space.apiKey)
    expect(sent()).toBe(body)
    const direct = await request(gateway.fake.url, 'any')
    expect(await through.text()).toBe(await direct.text())
    expect(through.headers.get('x-atrium-backend')).toBe('openai')
    expect(through.headers.get('openai-organization')).toBeNull()
  })

  test('a body of 8 MiB, and an answer of more', async () => {
    const input = Array.from({ length: 2048 }, (_, i) => `${i} ${'x'.repeat(4096)}`)
    const answer = await embed(gateway, { model: MODEL, input, dimensions: 1536 })
    expect(answer.status).toBe(200)
    expect(answer.body.data).toHaveLength(2048)
    const huge = Buffer.alloc(65 * 2 ** 20, 'x')
    expect((await embed(gateway, huge)).status).toBe(413)
  })

  test('a body a little too large is told so', async () => {
    const input = 'x'.repeat(64 * 2 ** 20)
    expect((await embed(gateway, { model: MODEL, input })).status).toBe(413)
  })

  test('an uncatalogued model of a local server is for whatever its server can do', async () => {
    await using local = await startWithFake({ isFound: true, fake: { models: ['nomic-embed-text'] } })
    const answer = await embed(local, { ...ask, model: 'nomic-embed-text' })
    expect(answer.status).toBe(200)
    expect(Number((await local.usage(1))[0]?.amount)).toBe(0)
    const china = await local.platform.call('POST', '/llm-cn/v1/embeddings', {
      token: local.space.apiKey,
      body: { ...ask, model: 'nomic-embed-text' },
    })
    expect(china.status).toBe(200)
  })
})

describe('usage', () => {
  test('becomes cost at the catalogue’s prices', async () => {
    await using fresh = await startWithFake()
    const input = Array.from({ length: 1000 }, () => 'x'.repeat(4000))
    for (const model of [MODEL, 'text-embedding-3-large'])
      expect((await embed(fresh, { model, input, dimensions: 8 })).status).toBe(200)
    const [large, small, ...others] = await fresh.usage(2)
    expect(others).toEqual([])
    // A million tokens each.
    expect(small).toMatchObject({ model: MODEL, requests: 1, promptTokens: 1_000_000, completionTokens: 0 })
    expect(Number(small?.amount)).toBe(0.02)
    expect(Number(large?.amount)).toBe(0.13)
  })

  test('is counted here when the backend is silent about it; tokens need no counting', async () => {
    await using fresh = await startWithFake({ fake: { behaviour: { usage: false } } })
    expect((await embed(fresh, { ...ask, dimensions: 4 })).status).toBe(200)
    const words = await fresh.usage(1)
    expect(words[0]?.promptTokens).toBeGreaterThan(3)
    expect(words[0]?.promptTokens).toBeLessThan(8)
    expect((await embed(fresh, { ...ask, input: [[1, 2], [3]], dimensions: 4 })).status).toBe(200)
    expect((await fresh.usage(2))[0]?.promptTokens).toBe((words[0]?.promptTokens ?? 0) + 3)
  })

  test('nothing is charged for what failed', async () => {
    await using fresh = await startWithFake()
    fresh.fake.next({ status: 500 }, { status: 429 }, { status: 400 })
    for (const status of [500, 429, 400]) expect((await embed(fresh, ask)).status).toBe(status)
    expect((await embed(fresh, ask)).status).toBe(200)
    expect((await fresh.usage(1))[0]?.requests).toBe(1)
  })
})

describe('requests that are wrong', () => {
  test.each([
    ['no body', undefined, 400, null],
    ['not JSON', '{"model":', 400, null],
    ['a list', [], 400, null],
    ['no model', { input: 'a' }, 400, 'model'],
    ['no input', { model: MODEL }, 400, 'input'],
    ['null as input', { model: MODEL, input: null }, 400, 'input'],
    ['an unknown model', { ...ask, model: 'text-embedding-9' }, 400, 'model'],
    ['a chat model', { ...ask, model: 'gpt-4o' }, 400, 'model'],
    ['an empty text', { ...ask, input: '' }, 400, 'input'],
    ['an empty list', { ...ask, input: [] }, 400, 'input'],
    ['an empty text in the list', { ...ask, input: ['a', ''] }, 400, 'input[1]'],
    ['empty tokens in the list', { ...ask, input: [[1], []] }, 400, 'input[1]'],
    ['2,049 texts', { ...ask, input: Array.from({ length: 2049 }, () => 'a') }, 400, 'input'],
    ['NUL', { ...ask, input: ['a\0'] }, 400, 'input[0]'],
    ['a number', { ...ask, input: 5 }, 422, 'input'],
    ['an object', { ...ask, input: { text: 'a' } }, 422, 'input'],
    ['texts and tokens mixed', { ...ask, input: ['a', 1] }, 422, 'input'],
    ['a token that is none', { ...ask, input: [1.5] }, 422, 'input'],
    ['a negative token', { ...ask, input: [-1] }, 422, 'input'],
    ['null in the list', { ...ask, input: [null] }, 422, 'input'],
    ['a model that is a number', { ...ask, model: 5 }, 422, 'model'],
    ['dimensions of 0', { ...ask, dimensions: 0 }, 422, 'dimensions'],
    ['dimensions as text', { ...ask, dimensions: '256' }, 422, 'dimensions'],
    ['more dimensions than there are', { ...ask, dimensions: 1537 }, 422, 'dimensions'],
    ['an unknown encoding', { ...ask, encoding_format: 'int8' }, 422, 'encoding_format'],
    ['a user that is a number', { ...ask, user: 1 }, 422, 'user'],
  ])('%s', async (_name, body, status, param) => {
    const answer = await embed(gateway, body)
    expect(answer.status).toBe(status)
    expect(answer.body.error).toMatchObject({
      message: expect.any(String),
      type: 'invalid_request_error',
      param,
    })
    expect(gateway.fake.requests.filter(({ method }) => method === 'POST')).toEqual([])
  })

  test('an embeddings model in a chat is told where it belongs', async () => {
    const answer = await gateway.chat({ ...hello, model: MODEL })
    expect(answer.status).toBe(400)
    expect(answer.body.error.message).toContain('POST /v1/embeddings')
  })

  test('null means not set', async () => {
    const answer = await embed(gateway, { ...ask, dimensions: null, encoding_format: null, user: null })
    expect(answer.status).toBe(200)
  })

  test('the models of the rest of the world are not in China', async () => {
    const answer = await gateway.platform.call('POST', '/llm-cn/v1/embeddings', {
      token: gateway.space.apiKey,
      body: ask,
    })
    expect([answer.status, answer.body.error.code]).toEqual([400, 'model_not_found'])
  })

  test('models without a backend say what to set', async () => {
    await using none = await startTestPlatform({ env: { ATRIUM_SANDBOX: 'off', NODE_ENV: 'production' } })
    const { apiKey } = await none.space()
    for (const [model, remedy] of [
      [MODEL, 'OPENAI_API_KEY'],
      ['titan-text-embeddings-v2', 'bedrock'],
    ]) {
      const answer = await none.call('POST', '/llm/v1/embeddings', { token: apiKey, body: { ...ask, model } })
      expect([answer.status, answer.body.error.code]).toEqual([503, 'backend_not_configured'])
      expect(answer.body.error.message).toContain(remedy)
    }
  })
})

describe('credentials', () => {
  const send = (headers: Record<string, string>, region = 'llm') =>
    gateway.platform.call('POST', `/${region}/v1/embeddings`, { body: ask, headers })

  test('none, unknown ones, tokens', async () => {
    for (const authorization of [
      undefined,
      'Bearer ac0c3a3c-0000-4000-8000-000000000000',
      'Bearer oldkey123456',
      gateway.space.apiKey,
      `Bearer ${gateway.space.ownerToken}`,
      `Bearer ${gateway.platform.superuserClient.token}`,
    ]) {
      const answer = await send(authorization === undefined ? {} : { authorization })
      expect([answer.status, answer.body.error.type]).toEqual([401, 'authentication_error'])
    }
    expect(gateway.fake.requests).toEqual([])
  })

  test('each space pays for its own key; a revoked one ends', async () => {
    const { platform } = gateway
    const other = await platform.space()
    const headers = { authorization: `Bearer ${other.apiKey}` }
    expect((await send(headers)).status).toBe(200)
    expect((await waitForUsage(platform.pool, other.spaceId, 1))[0]?.requests).toBe(1)
    await platform.call('DELETE', `/portal/v1/spaces/${other.spaceId}/apikeys/${other.apiKeyId}`, {
      token: other.ownerToken,
    })
    await expect.poll(async () => (await send(headers)).status, { timeout: 10_000 }).toBe(401)
  })

  test('the rate limit counts embeddings', async () => {
    await using limited = await startWithFake({
      env: { ATRIUM_GATEWAY_RATE_LIMIT: '1', ATRIUM_GATEWAY_RATE_LIMIT_BURST: '2' },
    })
    for (const status of [200, 200, 429]) expect((await embed(limited, ask)).status).toBe(status)
  })
})

describe('what the backend does wrong', () => {
  test.each([
    ['400 passes', { status: 400 }, 400, null],
    ['401 is ours', { status: 401 }, 502, 'backend_authentication_failed'],
    ['404 is ours', { status: 404 }, 502, 'backend_model_not_found'],
    ['408 is a time-out', { status: 408 }, 504, null],
    ['429 passes', { status: 429, retryAfter: 7 }, 429, 'rate_limit_exceeded'],
    ['500 passes', { status: 500 }, 500, null],
    ['not JSON', { body: '<html>', contentType: 'text/html' }, 502, 'backend_answer_invalid'],
    ['a stream', { body: 'data: {}\n\n', contentType: 'text/event-stream' }, 502, 'backend_answer_invalid'],
  ])('%s', async (_name, behaviour, status, code) => {
    gateway.fake.next(behaviour)
    const answer = await embed(gateway, ask)
    expect([answer.status, answer.body.error.code]).toEqual([status, code])
    if (status === 429) expect(answer.headers.get('retry-after')).toBe('7')
    expect(answer.headers.get('x-atrium-backend')).toBe('openai')
  })

  test('a caller who hangs up stops the backend, and pays for what was read', async () => {
    await using fresh = await startWithFake()
    fresh.fake.next({ hang: true })
    const stop = new AbortController()
    const call = fresh.client.embeddings.create(ask, { signal: stop.signal }).catch(() => 'aborted')
    await expect.poll(() => fresh.fake.requests.length).toBe(1)
    stop.abort()
    expect(await call).toBe('aborted')
    await expect.poll(() => fresh.fake.requests[0]?.aborted).toBe(true)
    expect((await fresh.usage(1))[0]?.promptTokens).toBeGreaterThan(0)
  })
})
