import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hello, OPERATOR_KEY, startWithFake } from './platform.ts'

let gateway: Awaited<ReturnType<typeof startWithFake>>
beforeAll(async () => {
  gateway = await startWithFake()
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(() => {
  gateway.fake.requests.length = 0
})

describe('a plain completion', () => {
  test('works with the official client', async () => {
    const answer = await gateway.client.chat.completions.create(hello)
    expect(answer.choices[0]?.message.content).toBe('Hello from the fake server.')
    expect(answer.usage?.total_tokens).toBe(30)
  })

  test('passes the body on byte for byte, unknown fields, spacing and escapes included', async () => {
    const body =
      '{ "messages" : [{"role":"user","content":"p\\u0159\\u00edli\\u0161 žluťoučký 🦊"}],\n\t"model":"gpt-4o", "seed": 1.0, "n":1, "x_unknown": {"a":[1e3, 0.10]} }'
    const answer = await gateway.raw(body)
    expect(answer.status).toBe(200)
    expect(gateway.fake.requests[0]?.body.toString()).toBe(body)
  })

  test('replaces nothing but the name of a model that the backend calls otherwise', async () => {
    const body = '{"messages":[{"role":"user","content":"\\"model\\":\\"gpt-41\\""}] , "model" : "gpt-41"}'
    expect((await gateway.raw(body)).status).toBe(200)
    expect(gateway.fake.requests[0]?.body.toString()).toBe(body.replace(': "gpt-41"', ': "gpt-4.1"'))
  })

  test('answers with the bytes of the backend', async () => {
    const direct = await fetch(`${gateway.fake.url}/chat/completions`, {
      method: 'POST',
      body: JSON.stringify(hello),
    })
    const through = await gateway.raw(JSON.stringify(hello))
    expect(await through.text()).toBe(await direct.text())
    expect(through.headers.get('x-atrium-backend')).toBe('openai')
  })

  test('n and tools pass through', async () => {
    const tools = [
      { type: 'function' as const, function: { name: 'weather', parameters: { type: 'object' } } },
    ]
    const answer = await gateway.client.chat.completions.create({ ...hello, n: 3, tools })
    expect(answer.choices).toHaveLength(3)
    expect(answer.choices[2]?.message.tool_calls?.[0]).toMatchObject({ function: { name: 'weather' } })
  })

  test('neither the caller’s credentials reach the backend nor the operator’s affairs the caller', async () => {
    const answer = await gateway.chat(hello, { cookie: 'session=1', 'x-forwarded-for': '10.0.0.1' })
    const headers = gateway.fake.requests[0]?.headers ?? {}
    expect(headers.authorization).toBe(`Bearer ${OPERATOR_KEY}`)
    expect(headers.cookie).toBeUndefined()
    expect(JSON.stringify(headers)).not.toContain(gateway.space.apiKey)
    for (const name of ['openai-organization', 'set-cookie', 'x-ratelimit-remaining-requests']) {
      expect(answer.headers.get(name)).toBeNull()
    }
    expect(answer.headers.get('x-backend-request-id')).toBe('req_fake')
  })

  test('usage becomes cost at the catalogue’s prices, cached tokens at theirs', async () => {
    await using fresh = await startWithFake()
    fresh.fake.behave({
      usage: {
        prompt_tokens: 1000,
        completion_tokens: 100,
        total_tokens: 1100,
        prompt_tokens_details: { cached_tokens: 400 },
      },
    })
    for (let i = 0; i < 3; i++) expect((await fresh.chat(hello)).status).toBe(200)
    const [usage] = await fresh.usage(3)
    // 600 × $2.50/M + 400 × $1.25/M + 100 × $10/M = $0.003, three times.
    expect(Number(usage?.amount)).toBe(0.009)
    expect(usage).toMatchObject({ model: 'gpt-4o', requests: 3, promptTokens: 3000, completionTokens: 300 })
    const month = new Date().toISOString().slice(0, 7)
    const report = await fresh.platform.call(
      'GET',
      `/portal/v1/spaces/${fresh.space.spaceId}/costs/report?month=${month}`,
      { token: fresh.space.ownerToken },
    )
    expect(report.status).toBe(200)
    expect(JSON.stringify(report.body)).toContain('0.009')
  })

  test.each([
    ['echoed beside it', { metadata: { usage: { prompt_tokens: 0, completion_tokens: 0 } } }],
    ['in a tool', { tools: [{ type: 'function', function: { name: 'usage', parameters: { usage: {} } } }] }],
    ['in front of much else', { x: 'y'.repeat(10_000) }],
    ['before megabytes', { x: ['y'.repeat(200_000), 'z'.repeat(200_000)] }],
  ])('usage is what stands at the top level, not what stands %s', async (_name, more) => {
    await using fresh = await startWithFake()
    const usage = { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 }
    const message = { role: 'assistant', content: '"usage":{"prompt_tokens":1}' }
    const choices = [{ index: 0, message, finish_reason: 'stop' }]
    fresh.fake.next({
      body: JSON.stringify({ object: 'chat.completion', model: 'm', choices, usage, ...more }),
    })
    expect((await fresh.chat(hello)).status).toBe(200)
    const chunk = {
      object: 'chat.completion.chunk',
      model: 'm',
      choices: [{ index: 0, delta: { content: 'a' } }],
    }
    const events = [
      { ...chunk, ...more },
      { ...chunk, choices: [], usage, ...more },
    ]
    const body = `${events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}data: [DONE]\n\n`
    fresh.fake.next({ body, contentType: 'text/event-stream' })
    expect(await (await fresh.raw(JSON.stringify({ ...hello, stream: true }))).text()).toBe(
      `data: ${JSON.stringify(events[0])}\n\ndata: [DONE]\n\n`,
    )
    const [recorded] = await fresh.usage(2)
    expect(recorded).toMatchObject({ promptTokens: 2000, completionTokens: 200, estimatedRequests: 0 })
  })

  test('an answer without usage is counted here', async () => {
    await using fresh = await startWithFake({ fake: { behaviour: { usage: false } } })
    expect((await fresh.chat(hello)).status).toBe(200)
    const [usage] = await fresh.usage(1)
    expect(usage?.completionTokens).toBe(6)
    expect(usage?.promptTokens).toBeGreaterThan(4)
  })
})

describe('what the backend does wrong', () => {
  test.each([
    ['400 passes', { status: 400 }, 400, null],
    [
      '401 is ours',
      { status: 401, body: `{"error":{"message":"Incorrect API key ${OPERATOR_KEY}"}}` },
      502,
      'backend_authentication_failed',
    ],
    ['403 is ours', { status: 403 }, 502, 'backend_authentication_failed'],
    ['404 is ours', { status: 404 }, 502, 'backend_model_not_found'],
    ['422 passes', { status: 422 }, 422, null],
    ['429 passes', { status: 429, retryAfter: 7 }, 429, 'rate_limit_exceeded'],
    ['500 passes', { status: 500 }, 500, null],
    ['503 passes', { status: 503 }, 503, null],
    ['529 is the nearest', { status: 529 }, 502, null],
    ['a redirect', { status: 302, body: '' }, 502, 'backend_answer_invalid'],
    ['an HTML error', { status: 500, body: '<html>', contentType: 'text/html' }, 500, 'backend_error'],
    ['not JSON', { body: '<html>welcome</html>', contentType: 'text/html' }, 502, 'backend_answer_invalid'],
    ['an empty answer', { body: '' }, 502, 'backend_answer_invalid'],
    ['broken JSON', { body: '{"choices":[}' }, 502, 'backend_answer_invalid'],
    [
      'broken JSON with usage',
      { body: '{"choices":[},"usage":{"prompt_tokens":1}}' },
      502,
      'backend_answer_invalid',
    ],
    [
      'long broken JSON',
      { body: `{"choices":[{"message":{"content":"${'x'.repeat(400_000)}"}}}]}` },
      502,
      'backend_answer_invalid',
    ],
    ['no choices', { body: '{}' }, 502, 'backend_answer_invalid'],
    ['choices of null', { body: '{"choices":[null]}' }, 502, 'backend_answer_invalid'],
    ['choices that are no list', { body: '{"choices":{}}' }, 502, 'backend_answer_invalid'],
    ['a choice without a message', { body: '{"choices":[{"text":"a"}]}' }, 502, 'backend_answer_invalid'],
    ['an error as a success', { body: '{"error":{"message":"no"}}' }, 502, 'backend_answer_invalid'],
    ['a compressed answer', { body: gzipSync('{}'), contentEncoding: 'gzip' }, 502, 'backend_answer_invalid'],
    [
      'a leak of the key',
      { status: 400, body: `{"error":{"message":"${OPERATOR_KEY}","type":"x","param":null,"code":null}}` },
      400,
      'backend_error',
    ],
  ])('%s', async (_name, behaviour, status, code) => {
    gateway.fake.next(behaviour)
    const answer = await gateway.chat(hello)
    expect(answer.status).toBe(status)
    expect(answer.body.error.code).toBe(code)
    expect(JSON.stringify(answer.body)).not.toContain(OPERATOR_KEY)
    if (status === 429) expect(answer.headers.get('retry-after')).toBe('7')
    expect(answer.headers.get('x-atrium-backend')).toBe('openai')
  })

  test('silence becomes 504', async () => {
    await using slow = await startWithFake({ env: { ATRIUM_GATEWAY_HEADERS_TIMEOUT_MS: '100' } })
    slow.fake.next({ hang: true })
    const answer = await slow.chat(hello)
    expect(answer.status).toBe(504)
    expect(answer.body.error.code).toBe('backend_timeout')
    await using short = await startWithFake({ env: { ATRIUM_GATEWAY_TOTAL_TIMEOUT_MS: '100' } })
    short.fake.next({ hang: true })
    expect((await short.chat(hello)).status).toBe(504)
  })

  test('a backend that is not there becomes 502', async () => {
    await using lonely = await startWithFake()
    await lonely.fake.close()
    const answer = await lonely.chat(hello)
    expect(answer.status).toBe(502)
    lonely.fake.close = async () => {}
  })
})
