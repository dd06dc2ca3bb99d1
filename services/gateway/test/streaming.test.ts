import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { hello, startWithFake } from './platform.ts'

let gateway: Awaited<ReturnType<typeof startWithFake>>
beforeAll(async () => {
  gateway = await startWithFake()
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(() => {
  gateway.fake.requests.length = 0
})

const streamed = { ...hello, stream: true as const }

async function both(body: object): Promise<[direct: string, through: string]> {
  const direct = await fetch(`${gateway.fake.url}/chat/completions`, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  const through = await gateway.raw(JSON.stringify(body))
  return [await direct.text(), await through.text()]
}

describe('a streamed completion', () => {
  test('works with the official client', async () => {
    const stream = await gateway.client.chat.completions.create(streamed)
    let text = ''
    for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
    expect(text).toBe('Hello from the fake server.')
  })

  test('is described in the contract, event by event', async () => {
    for (const more of [{}, { stream_options: { include_usage: true } }, { tools: [{ type: 'function' }] }]) {
      const answer = await gateway.chat({ ...streamed, ...more })
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        200,
        expect.stringContaining('text/event-stream'),
      ])
      expect(answer.body).toContain('data: [DONE]')
    }
    gateway.fake.next({ cutAfter: 3 })
    expect((await gateway.chat(streamed)).body).toContain('"error"')
    const { body: document } = await gateway.platform.call('GET', '/llm/openapi-3.1.json')
    const { content } = document.paths['/v1/chat/completions'].post.responses['200']
    expect(content['text/event-stream'].schema).toMatchObject({
      type: 'string',
      description: expect.stringContaining('ChatCompletionEvent'),
    })
    gateway.fake.next({ pieces: [5 as unknown as string] })
    await expect(gateway.chat(streamed)).rejects.toThrow('createChatCompletion 200 breaks its contract')
  })

  test.each([
    ['as it comes', {}],
    ['with CRLF', { lineEnd: '\r\n' as const }],
    ['with CR', { lineEnd: '\r' as const }],
    [
      'cut through characters and events',
      { pieces: ['žluťoučký', ' 🦊🦊', ' \n\n'], writeBytes: 7, intervalMs: 1 },
    ],
    ['of one long event', { pieces: ['x'.repeat(300_000)] }],
  ])('has the bytes of the backend, %s', async (_name, behaviour) => {
    gateway.fake.next(behaviour, behaviour)
    const [direct, through] = await both(streamed)
    expect(through).toBe(direct)
  })

  test('with usage, n and tools', async () => {
    const [direct, through] = await both({
      ...streamed,
      n: 2,
      stream_options: { include_usage: true },
      tools: [{ type: 'function', function: { name: 'weather' } }],
    })
    expect(through).toBe(direct)
    expect(through).toContain('"usage":{')
  })

  test('chunks arrive when they are sent, not at the end', async () => {
    const rest = Promise.withResolvers<void>()
    gateway.fake.next({ pieces: ['a', 'b', 'c'], held: rest.promise })
    const answer = await gateway.raw(JSON.stringify(streamed))
    const reader = answer.body?.getReader()
    // Would wait for ever if the gateway waited for the end.
    expect((await reader?.read())?.done).toBe(false)
    rest.resolve()
    while (!(await reader?.read())?.done) {}
  })

  test('one that breaks off ends with an error and no made-up finish', async () => {
    for (const fault of [
      { cutAfter: 3 },
      { endAfter: 3 },
      { cutAfter: 0 },
      { writeBytes: 100, cutAfter: 3, intervalMs: 1 },
    ]) {
      gateway.fake.next(fault)
      const text = await (await gateway.raw(JSON.stringify(streamed))).text()
      const events = text.split('\n\n').filter((event) => event !== '')
      expect(JSON.parse(events.at(-1)?.slice(6) ?? '').error).toMatchObject({
        type: 'server_error',
        param: null,
      })
      expect(text).not.toContain('[DONE]')
      expect(text).not.toContain('"finish_reason":"')
      for (const event of events) JSON.parse(event.slice(6))
    }
  })

  test('the official client throws on it', async () => {
    gateway.fake.next({ cutAfter: 2 })
    const stream = await gateway.client.chat.completions.create(streamed)
    await expect(async () => {
      for await (const _ of stream);
    }).rejects.toThrow(/fake|backend|openai/i)
  })

  test('silence between chunks ends it', async () => {
    await using slow = await startWithFake({ env: { ATRIUM_GATEWAY_IDLE_TIMEOUT_MS: '200' } })
    slow.fake.next({ pieces: ['a', 'b'], intervalMs: 30_000 })
    const text = await (await slow.raw(JSON.stringify(streamed))).text()
    expect(text).toContain('backend_timeout')
  })

  test('one event of 900 KB in pieces of 16 bytes holds up nobody', async () => {
    gateway.fake.next({ pieces: ['x'.repeat(900_000)], writeBytes: 16 })
    let isOver = false
    const streaming = gateway
      .raw(JSON.stringify(streamed))
      .then((answer) => answer.text())
      .finally(() => {
        isOver = true
      })
    // Searched anew with each piece, it took a minute, in which no service answered.
    let answered = 0
    while (!isOver) {
      const path = `/portal/v1/spaces/${gateway.space.spaceId}`
      expect((await gateway.platform.call('GET', path, { token: gateway.space.ownerToken })).status).toBe(200)
      answered += 1
    }
    expect(answered).toBeGreaterThan(3)
    expect((await streaming).endsWith('data: [DONE]\n\n')).toBe(true)
  }, 20_000)

  test('an event without an end is not kept: the stream ends with an error, and the backend stops', async () => {
    gateway.fake.requests.length = 0
    gateway.fake.next({ pieces: ['a', 'x'.repeat(9 * 1024 * 1024)], writeBytes: 100_000, intervalMs: 1 })
    const text = await (await gateway.raw(JSON.stringify(streamed))).text()
    expect(text.length).toBeLessThan(10_000)
    expect(JSON.parse(text.trimEnd().split('\n\n').at(-1)?.slice(6) ?? '').error).toMatchObject({
      code: 'backend_answer_invalid',
      message: expect.stringContaining('more than 6291456 bytes'),
    })
    await expect.poll(() => gateway.fake.requests[0]?.aborted).toBe(true)
  })

  test.each([
    ['and the end of the answer', {}],
    ['and a broken connection', { cutAfter: 1 }],
  ])('an error of the backend amid its answer is told once: %s', async (_name, more) => {
    const events = [
      {
        object: 'chat.completion.chunk',
        model: 'm',
        choices: [{ index: 0, delta: { content: '"error":1' } }],
      },
      { error: { message: 'The server had an error', type: 'server_error', param: null, code: null } },
    ]
    const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
    gateway.fake.next({ ...more, events: body })
    expect(await (await gateway.raw(JSON.stringify(streamed))).text()).toBe(body)
  })

  test('the type of the answer is read in any letters', async () => {
    const body = 'data: {"choices":[],"usage":{"prompt_tokens":1}}\n\ndata: [DONE]\n\n'
    gateway.fake.next({ body, contentType: 'Text/Event-Stream; Charset=UTF-8' })
    expect(await (await gateway.raw(JSON.stringify(streamed))).text()).toBe('data: [DONE]\n\n')
  })

  test('a compressed stream is a plain error, and nothing of it is passed on', async () => {
    const contentType = 'text/event-stream'
    gateway.fake.next({ body: gzipSync('data: [DONE]\n\n'), contentType, contentEncoding: 'gzip' })
    const answer = await gateway.chat(streamed)
    expect(answer.status).toBe(502)
    expect(answer.headers.get('content-encoding')).toBe(null)
    expect(answer.body.error).toMatchObject({
      code: 'backend_answer_invalid',
      message: expect.stringContaining('compressed (gzip)'),
    })
  })

  test('an error before the stream is a plain error', async () => {
    gateway.fake.next({ status: 429, retryAfter: 3 })
    const answer = await gateway.chat(streamed)
    expect(answer.status).toBe(429)
    expect(answer.headers.get('retry-after')).toBe('3')
  })

  test('a slow reader slows the backend down instead of filling the memory', async () => {
    const pieces = Array.from({ length: 4000 }, (_, i) => `${i} ${'x'.repeat(10_000)}`)
    gateway.fake.next({ pieces })
    const answer = await gateway.raw(JSON.stringify(streamed))
    const before = process.memoryUsage().arrayBuffers
    await delay(500)
    // 40 MB wait at the backend; only socket buffers may be full.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000)
    const text = await answer.text()
    expect(text.length).toBeGreaterThan(40_000_000)
    expect(text.endsWith('data: [DONE]\n\n')).toBe(true)
  })

  test('a caller who hangs up stops the backend and pays for what came', async () => {
    await using fresh = await startWithFake()
    fresh.fake.next({ pieces: Array.from({ length: 500 }, () => ' word'), intervalMs: 5 })
    const stop = new AbortController()
    const answer = await fresh.raw(JSON.stringify(streamed), stop.signal)
    const reader = answer.body?.getReader()
    for (let i = 0; i < 20; i++) await reader?.read()
    stop.abort()
    await expect.poll(() => fresh.fake.requests[0]?.aborted).toBe(true)
    const [usage] = await fresh.usage(1)
    expect(usage?.completionTokens).toBeGreaterThan(5)
    expect(usage?.completionTokens).toBeLessThan(400)
  })
})
