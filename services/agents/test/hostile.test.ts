import { sharedTestPlatform, startTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { AGENT_INPUT, type Chat, chatIn, messageOf } from './chat.ts'

let platform: TestPlatform
let chat: Chat
let agentId = ''
let thread = ''
let message = ''

beforeAll(async () => {
  platform = await sharedTestPlatform()
  const { spaceId, apiKey } = await platform.space()
  chat = chatIn(platform, spaceId, apiKey)
  agentId = await chat.agent()
  thread = await chat.thread(agentId)
  message = await chat.message(thread)
})

/** Every route that reads a body, with one whose metadata is the given JSON text. */
const bodies = (metadata: string): [string, string, string][] => {
  const agent = JSON.stringify(AGENT_INPUT).slice(1, -1)
  const content = JSON.stringify(messageOf('x')).slice(1, -1)
  const only = `{"metadata": ${metadata}}`
  return [
    ['POST', '/agent?model=gpt-4o', `{${agent}, "metadata": ${metadata}}`],
    ['PATCH', `/agent/${agentId}`, only],
    ['QUERY', '/agent', only],
    ['POST', `/agent/${agentId}/thread`, only],
    ['PATCH', thread, only],
    ['QUERY', `/agent/${agentId}/thread`, only],
    ['POST', `${thread}/message`, `{${content}, "metadata": ${metadata}}`],
    ['PATCH', message, only],
    ['QUERY', `${thread}/message`, only],
  ]
}

describe('metadata of bad will', () => {
  it.each([
    ['a number beyond doubles', '{"a": [1, {"b": 1e999}]}', 400, 'INVALID_INPUT'],
    ['a negative one', '{"a": -1e400}', 400, 'INVALID_INPUT'],
    ['a NUL in a value', '{"a": "x\\u0000y"}', 400, 'INVALID_INPUT'],
    ['a NUL in a key', '{"a\\u0000": 1}', 400, 'INVALID_INPUT'],
    ['NaN', '{"a": NaN}', 400, 'INVALID_JSON'],
    ['100 levels', `${'{"a":'.repeat(100)}1${'}'.repeat(100)}`, 400, 'JSON_TOO_DEEP'],
    ['more than 1 MiB', `{"a": "${'x'.repeat(1_100_000)}"}`, 413, 'BODY_TOO_LARGE'],
  ])('%s is refused in every body', async (_what, metadata, status, code) => {
    for (const [method, path, body] of bodies(metadata)) {
      const answer = await chat.call(method, path, body)
      expect([answer.status, answer.body.code], `${method} ${path}`).toEqual([status, code])
      expect(answer.body.error).toBe(true)
    }
  })

  it.each([
    ['60 levels', `${'{"a":'.repeat(60)}1${'}'.repeat(60)}`],
    ['half a surrogate pair', '{"a\\ud800": "\\udfff b", "c": "\\\\ud800"}'],
    [
      'keys of prototypes',
      '{"__proto__": {"polluted": 1}, "constructor": {"prototype": {"polluted": 1}}, "toString": 1}',
    ],
    ['numbers at the edge', '{"a": {"b": [1e308, -1e-308, 12345678901234567890, -0]}}'],
    ['half a megabyte', `{"a": "${'é'.repeat(250_000)}"}`],
    [
      'ten thousand keys in one',
      `{"k": {${Array.from({ length: 10_000 }, (_, i) => `"${i}": ${i}`).join()}}}`,
    ],
  ])('%s is taken and read back', async (_what, metadata) => {
    for (const [method, path, body] of bodies(metadata)) {
      const answer = await chat.call(method, path, body)
      expect([200, 201], `${method} ${path}: ${JSON.stringify(answer.body).slice(0, 300)}`).toContain(
        answer.status,
      )
    }
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    const { body } = await chat.call('GET', thread)
    expect(
      (await chat.call('QUERY', `/agent/${agentId}/thread`, { metadata: body.metadata })).body,
    ).not.toEqual([])
  })
})

describe('texts of bad will', () => {
  it('are stored as they are', async () => {
    for (const text of [
      "'; DROP TABLE agents.agents; --",
      '{{7*7}} %s $1',
      '<script>alert(1)</script>',
      '\u202e\ufeff\u0007',
    ]) {
      const made = await chat.call('POST', '/agent?model=gpt-4o', {
        ...AGENT_INPUT,
        name: `x${text}`,
        instructions: text,
      })
      const { body } = await chat.call('GET', `/agent/${made.body.agentId}`)
      expect([body.name, body.instructions]).toEqual([`x${text}`, text])
      const found = await chat.call('GET', `/agent?search=${encodeURIComponent(text)}`)
      expect(found.body.map((agent: { agentId: string }) => agent.agentId)).toEqual([made.body.agentId])
      const sent = await chat.call('POST', `${thread}/message`, messageOf(text))
      expect(sent.body.content[0].text).toBe(text)
    }
  })

  it('lose half a surrogate pair and nothing else', async () => {
    const { body } = await chat.call('POST', `${thread}/message`, messageOf('a\ud800b😀'))
    expect(body.content[0].text).toBe('a\ufffdb😀')
  })

  it('with a NUL name nothing in a path, and are refused in a query', async () => {
    for (const [path, status] of [
      ['/agent/%00', 404],
      [`/agent/${agentId}/thread/a%00b`, 404],
      ['/agent?search=%00', 400],
    ] as const) {
      const answer = await chat.call('GET', path)
      expect([answer.status, answer.body.error], path).toEqual([status, true])
    }
  })
})

describe('bodies that are none', () => {
  it('get the service’s own error', async () => {
    for (const [method, path] of bodies('{}')) {
      for (const [body, type, code] of [
        ['{"metadata": ', 'application/json', 'INVALID_JSON'],
        ['metadata=1', 'application/x-www-form-urlencoded', 'INVALID_CONTENT_TYPE'],
        ['[]', 'application/json', 'INVALID_INPUT'],
        ['5', 'application/json', 'INVALID_INPUT'],
      ] as const) {
        const answer = await chat.call(method, path, body, { headers: { 'content-type': type } })
        expect([answer.status, answer.body.code], `${method} ${path} ${body}`).toEqual([400, code])
      }
    }
  })
})

describe('when the database fails', () => {
  it('each operation has a failure message of its own, and tells no secret', async () => {
    await using broken = await startTestPlatform()
    const { spaceId, apiKey } = await broken.space()
    const calls = chatIn(broken, spaceId, apiKey)
    const one = await calls.thread(await calls.agent())
    await broken.pool.query('ALTER TABLE agents.messages RENAME TO gone')
    const sent = await calls.call('POST', `${one}/message`, messageOf('hi'))
    expect(sent.status).toBe(500)
    expect(sent.body).toEqual({
      error: true,
      message: expect.stringMatching(/^Failed to create message; quote request [\w-]+$/),
      code: 'CREATE_MESSAGE_FAILED',
    })
    const listed = await calls.call('GET', `${one}/message`)
    expect([listed.status, listed.body.code]).toEqual([500, 'LIST_MESSAGES_FAILED'])
    await broken.pool.query('ALTER TABLE agents.agents RENAME TO gone_too')
    for (const [method, code] of [
      ['GET', 'LIST_AGENTS_FAILED'],
      ['QUERY', 'QUERY_AGENTS_FAILED'],
    ]) {
      const answer = await calls.call(method ?? '', '/agent')
      expect([answer.status, answer.body.code]).toEqual([500, code])
    }
  })
})
