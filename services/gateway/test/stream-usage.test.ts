import { startTestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { hello, startWithFake, waitForUsage } from './platform.ts'

type Gateway = Awaited<ReturnType<typeof startWithFake>>

let gateway: Gateway
beforeAll(async () => {
  gateway = await startWithFake()
})
afterAll(() => gateway[Symbol.asyncDispose]())
beforeEach(() => {
  gateway.fake.requests.length = 0
})

const streamed = { ...hello, stream: true as const }
const textOf = async (through: Gateway, body: object): Promise<string> =>
  (await through.raw(JSON.stringify(body))).text()
const sent = (through: Gateway) => JSON.parse(through.fake.requests.at(-1)?.body.toString() ?? '')

/** What a caller of the backend itself would see. */
const direct = async (body: object): Promise<string> =>
  (await fetch(`${gateway.fake.url}/chat/completions`, { method: 'POST', body: JSON.stringify(body) })).text()

test('a stream costs what the backend says, reasoning included, though the caller did not ask', async () => {
  await using fresh = await startWithFake()
  fresh.fake.behave({
    usage: {
      prompt_tokens: 1000,
      completion_tokens: 5000,
      total_tokens: 6000,
      completion_tokens_details: { reasoning_tokens: 4990 },
    },
  })
  const stream = await fresh.client.chat.completions.create({ ...streamed, model: 'o3' })
  for await (const chunk of stream) expect(chunk).not.toHaveProperty('usage')
  const [usage] = await fresh.usage(1)
  // 1000 × $2/M + 5000 × $8/M.
  expect(usage).toMatchObject({
    model: 'o3',
    promptTokens: 1000,
    completionTokens: 5000,
    estimatedRequests: 0,
  })
  expect(Number(usage?.amount)).toBe(0.042)
})

test.each([
  ['no options', {}, { include_usage: true }],
  ['null', { stream_options: null }, { include_usage: true }],
  ['an option of another kind', { stream_options: { x: [1] } }, { x: [1], include_usage: true }],
  ['usage in other letters', { stream_options: { Include_Usage: false } }, { include_usage: true }],
  ['usage refused', { stream_options: { include_usage: false } }, { include_usage: true }],
])('a caller who did not ask sees what they would have seen: %s', async (_name, options, asked) => {
  const body = { ...streamed, ...options, n: 2 }
  for (const behaviour of [
    {},
    { lineEnd: '\r\n' as const },
    { writeBytes: 7, pieces: ['žluťoučký', ' "usage":null', '🦊'] },
    { writeBytes: 7, lineEnd: '\r\n' as const },
    { writeBytes: 100_000 },
  ]) {
    gateway.fake.next(behaviour, behaviour)
    const expected = await direct(body)
    expect(await textOf(gateway, body)).toBe(expected)
    expect(sent(gateway)).toEqual({ ...body, stream_options: asked })
  }
})

test('a caller who asked gets it, and the request stays as it was', async () => {
  const body = { ...streamed, stream_options: { include_usage: true } }
  const text = await textOf(gateway, body)
  expect(gateway.fake.requests[0]?.body.toString()).toBe(JSON.stringify(body))
  expect(text).toContain('"usage":{')
  expect(text).toBe(await direct(body))
})

test('nothing but the option is added, before the rest', async () => {
  const text =
    ' { "messages" : [{"role":"user","content":"p\\u0159"}],\n"model":"gpt-41" , "stream":true,"x":1.0 }'
  expect((await gateway.raw(text)).status).toBe(200)
  expect(gateway.fake.requests[0]?.body.toString()).toBe(
    text.replace('{', '{"stream_options":{"include_usage":true},').replace('gpt-41', 'gpt-4.1'),
  )
})

test.each([
  [
    'by name',
    400,
    '{"error":{"message":"Unrecognized request argument supplied: stream_options","type":"x"}}',
  ],
  [
    'by place',
    422,
    '{"detail":[{"type":"extra_forbidden","loc":["body","stream_options","include_usage"]}]}',
  ],
])(
  'a backend that refuses the option %s serves all the same, and the estimate is marked',
  async (_name, status, body) => {
    await using fresh = await startWithFake({ fake: { behaviour: { usage: false } } })
    fresh.fake.next({ status, body })
    const first = await fresh.raw(JSON.stringify(streamed))
    expect([first.status, await first.text()]).toEqual([200, expect.stringContaining('[DONE]')])
    expect(
      fresh.fake.requests.map((request) => 'stream_options' in JSON.parse(request.body.toString())),
    ).toEqual([true, false])
    // It is not asked again with each call.
    await textOf(fresh, streamed)
    expect(fresh.fake.requests).toHaveLength(3)
    const [usage] = await fresh.usage(2)
    expect(usage).toMatchObject({ requests: 2, completionTokens: 12, estimatedRequests: 2 })
  },
)

test('a refusal of something else is the answer', async () => {
  gateway.fake.next({ status: 400 })
  expect((await gateway.raw(JSON.stringify(streamed))).status).toBe(400)
  expect(gateway.fake.requests).toHaveLength(1)
})

test('estimates count the pictures of a prompt', async () => {
  await using fresh = await startWithFake({ fake: { behaviour: { usage: false } } })
  const picture = (detail?: string) => ({
    type: 'image_url',
    image_url: { url: 'data:image/png;base64,AAAA', detail },
  })
  const content = [{ type: 'text', text: 'Hello' }, picture(), picture('low')]
  await textOf(fresh, { ...streamed, messages: [{ role: 'user', content }] })
  await textOf(fresh, {
    ...streamed,
    model: 'gpt-4o-mini',
    messages: [{ role: 'user', content: content.slice(0, 1) }],
  })
  const [pictures, plain] = await fresh.usage(2)
  expect(Number(pictures?.promptTokens) - Number(plain?.promptTokens)).toBe(765 + 85)
})

test('the sandbox’s streams cost as its whole answers do', async () => {
  await using platform = await startTestPlatform({ env: { ATRIUM_SANDBOX: 'on' } })
  const { spaceId, apiKey } = await platform.space()
  const call = (body: object) => platform.call('POST', '/llm/v1/chat/completions', { token: apiKey, body })
  const { body: whole } = await call(hello)
  expect((await call(streamed)).body).not.toContain('"usage"')
  expect((await call({ ...streamed, stream_options: { include_usage: true } })).body).toContain('"usage":{')
  const [usage] = await waitForUsage(platform.pool, spaceId, 3)
  expect(usage).toMatchObject({
    promptTokens: 3 * whole.usage.prompt_tokens,
    completionTokens: 3 * whole.usage.completion_tokens,
    estimatedRequests: 0,
  })
})
