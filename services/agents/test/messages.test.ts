import { setTimeout } from 'node:timers/promises'
import { sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Chat, chatIn, messageOf, UNKNOWN_ID } from './chat.ts'

type Space = Awaited<ReturnType<TestPlatform['space']>>

let platform: TestPlatform
let home: Space
let other: Space
let chat: Chat
let agentId = ''

beforeAll(async () => {
  platform = await sharedTestPlatform()
  ;[home, other] = [await platform.space(), await platform.space()]
  chat = chatIn(platform, home.spaceId, home.memberToken)
  agentId = await chat.agent()
})

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/
const idOf = (path: string): string => path.split('/').at(-1) ?? ''
const lastMessageAt = async (thread: string): Promise<string | null> =>
  (await chat.call('GET', thread)).body.lastMessageAt

interface Listed {
  readonly messageId: string
  readonly createdAt: string
}

describe('adding a message', () => {
  it('answers it, and is read the same', async () => {
    const thread = await chat.thread(agentId)
    const input = {
      role: 'assistant',
      content: [
        { type: 'text', text: '' },
        { type: 'image_url', image_url: { url: 'https://example.test/cat.png', detail: 'low' } },
        { type: 'tool_result', text: ['any', 'shape'], ok: null },
      ],
      metadata: { a: { b: [1.5, 'x'] } },
      model: 'gpt-4o',
      usage: { prompt_tokens: 3, completion_tokens: 0, total_tokens: 3 },
    }
    const answer = await chat.call('POST', `${thread}/message`, input)
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      ...input,
      messageId: expect.any(String),
      spaceId: home.spaceId,
      threadId: idOf(thread),
      createdAt: expect.stringMatching(TIME),
    })
    const read = await chat.call('GET', `${thread}/message/${answer.body.messageId}`)
    expect([read.status, read.body]).toEqual([200, answer.body])
    expect(read.headers.get('etag')).toBe(answer.headers.get('etag'))
    expect((await chat.call('GET', `${thread}/message`)).body).toEqual([answer.body])
  })

  it.each(['user', 'assistant', 'system', 'tool'])('takes the role %s and nothing optional', async (role) => {
    const thread = await chat.thread(agentId)
    const { status, body } = await chat.call('POST', `${thread}/message`, {
      ...messageOf('hi'),
      role,
      messageId: UNKNOWN_ID,
      createdAt: '1999-01-01T00:00:00.000+00:00',
      usage: undefined,
    })
    expect(status).toBe(201)
    expect(Object.keys(body).sort()).toEqual(
      ['content', 'createdAt', 'messageId', 'metadata', 'role', 'spaceId', 'threadId'].sort(),
    )
    expect(body.messageId).not.toBe(UNKNOWN_ID)
    expect(body.createdAt).not.toContain('1999')
  })

  it('keeps of usage what the contract knows', async () => {
    const thread = await chat.thread(agentId)
    const { body } = await chat.call(
      'POST',
      `${thread}/message`,
      messageOf('hi', { usage: { total_tokens: 5, cached: 3 } }),
    )
    expect(body.usage).toEqual({ total_tokens: 5 })
  })

  it.each<[string, unknown]>([
    ['role', undefined],
    ['role', 'robot'],
    ['role', null],
    ['content', undefined],
    ['content', 'text'],
    ['content', []],
    ['content', {}],
    ['content', ['text']],
    ['content', [{}]],
    ['content', [{ text: 'no type' }]],
    ['content', [{ type: '' }]],
    ['content', [{ type: 1, text: 'x' }]],
    ['content', [{ type: 'text' }]],
    ['content', [{ type: 'text', text: 5 }]],
    [
      'content',
      [
        { type: 'text', text: 'good' },
        { type: 'text', text: null },
      ],
    ],
    ['content', [null]],
    ['metadata', 'x'],
    ['metadata', [1]],
    ['model', 5],
    ['model', ''],
    ['usage', 5],
    ['usage', { prompt_tokens: -1 }],
    ['usage', { completion_tokens: 1.5 }],
    ['usage', { total_tokens: '3' }],
    ['usage', { total_tokens: 1e300 }],
  ])('refuses %s as %j and names it', async (field, value) => {
    const thread = await chat.thread(agentId)
    const answer = await chat.call('POST', `${thread}/message`, { ...messageOf('hi'), [field]: value })
    expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_INPUT'])
    expect(answer.body.message).toContain(`body.${field}`)
    expect(await lastMessageAt(thread)).toBeNull()
  })

  it('needs a thread of this agent in this space', async () => {
    const thread = await chat.thread(agentId)
    const otherAgent = await chat.agent()
    const elsewhere = chatIn(platform, other.spaceId, other.apiKey)
    const theirAgent = await elsewhere.agent()
    for (const [where, path] of [
      [chat, `/agent/${agentId}/thread/${UNKNOWN_ID}`],
      [chat, `/agent/${agentId}/thread/x`],
      [chat, `/agent/x/thread/${idOf(thread)}`],
      [chat, `/agent/${otherAgent}/thread/${idOf(thread)}`],
      [elsewhere, thread],
      [elsewhere, `/agent/${theirAgent}/thread/${idOf(thread)}`],
    ] as const) {
      for (const [method, body] of [['POST', messageOf('hi')], ['GET'], ['QUERY']] as const) {
        const answer = await where.call(method, `${path}/message`, body)
        expect([answer.status, answer.body.code], `${method} ${path}`).toEqual([404, 'THREAD_NOT_FOUND'])
      }
    }
    expect(await lastMessageAt(thread)).toBeNull()
  })

  it('answers 404, and never 500, when its thread goes at that moment', async () => {
    for (let round = 0; round < 5; round++) {
      const doomed = await chat.thread(agentId)
      const posts = Array.from({ length: 8 }, () => chat.call('POST', `${doomed}/message`, messageOf('hi')))
      const [deleted, ...answers] = await Promise.all([chat.call('DELETE', doomed), ...posts])
      expect(deleted?.status).toBe(204)
      for (const { status } of answers) expect([201, 404]).toContain(status)
      const left = await platform.pool.query('SELECT FROM agents.messages WHERE thread_id = $1', [
        idOf(doomed),
      ])
      expect(left.rowCount).toBe(0)
    }
  })
})

describe('lastMessageAt', () => {
  it('follows the newest message, also back when that is deleted', async () => {
    const thread = await chat.thread(agentId)
    const before = (await chat.call('GET', thread)).body
    const times: string[] = []
    const paths: string[] = []
    for (let i = 0; i < 3; i++) {
      const { body } = await chat.call('POST', `${thread}/message`, messageOf(`${i}`))
      times.push(body.createdAt)
      paths.push(`${thread}/message/${body.messageId}`)
      expect(await lastMessageAt(thread)).toBe(body.createdAt)
      await setTimeout(2)
    }
    await chat.call('PATCH', paths[0] ?? '', { metadata: { changed: true } })
    expect(await lastMessageAt(thread)).toBe(times[2])
    for (const [index, expected] of [
      [1, times[2]],
      [2, times[0]],
      [0, null],
    ] as const) {
      expect((await chat.call('DELETE', paths[index] ?? '')).status).toBe(204)
      expect(await lastMessageAt(thread)).toBe(expected)
    }
    expect((await chat.call('GET', thread)).body).toEqual(before)
  })

  it('is the newest time after 50 messages at once, which all have their place', async () => {
    const thread = await chat.thread(agentId)
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, i) => chat.call('POST', `${thread}/message`, messageOf(`${i}`))),
    )
    expect(answers.every(({ status }) => status === 201)).toBe(true)
    const listed = (await chat.call('GET', `${thread}/message`)).body as Listed[]
    expect(listed.map(({ messageId }) => messageId).sort()).toEqual(
      answers.map(({ body }) => body.messageId).sort(),
    )
    const times = listed.map(({ createdAt }) => createdAt)
    expect(times).toEqual([...times].sort())
    expect(await lastMessageAt(thread)).toBe(times.at(-1))
    const { rows } = await platform.pool.query(
      'SELECT count(DISTINCT created_at)::int AS times FROM agents.messages WHERE thread_id = $1',
      [idOf(thread)],
    )
    expect(rows[0].times).toBe(50)
  })

  it('is right after messages were added and deleted at once', async () => {
    const thread = await chat.thread(agentId)
    const old = await Promise.all(Array.from({ length: 15 }, () => chat.message(thread)))
    await Promise.all([
      ...old.map((path) => chat.call('DELETE', path)),
      ...Array.from({ length: 15 }, async () => chat.call('DELETE', await chat.message(thread))),
      ...Array.from({ length: 3 }, () => chat.message(thread)),
    ])
    const listed = (await chat.call('GET', `${thread}/message`)).body as Listed[]
    expect(listed).toHaveLength(3)
    expect(await lastMessageAt(thread)).toBe(listed.at(-1)?.createdAt)
    await Promise.all(listed.map(({ messageId }) => chat.call('DELETE', `${thread}/message/${messageId}`)))
    expect(await lastMessageAt(thread)).toBeNull()
  })
})

describe('one message', () => {
  it('changes in content and metadata alone', async () => {
    const thread = await chat.thread(agentId)
    const { body: before } = await chat.call(
      'POST',
      `${thread}/message`,
      messageOf('old', { metadata: { a: 1 } }),
    )
    const path = `${thread}/message/${before.messageId}`
    const first = await chat.call('PATCH', path, { metadata: { b: 2 }, role: 'system', model: 'x' })
    expect([first.status, first.body]).toEqual([200, { ...before, metadata: { b: 2 } }])
    const content = [{ type: 'text', text: 'new' }]
    const second = await chat.call('PATCH', path, { content })
    expect(second.body).toEqual({ ...before, metadata: { b: 2 }, content })
    expect((await chat.call('GET', path)).body).toEqual(second.body)
    for (const body of [{ content: [] }, { content: [{ type: 'text' }] }, { metadata: null }]) {
      expect((await chat.call('PATCH', path, body)).status).toBe(400)
    }
  })

  it('honours If-Match on writes', async () => {
    const path = await chat.message(await chat.thread(agentId))
    const send = (method: string, tag: string, body?: unknown) =>
      chat.call(method, path, body, { headers: { 'if-match': tag } })
    expect((await send('PATCH', '"1"', { metadata: {} })).headers.get('etag')).toBe('"2"')
    expect((await send('PATCH', '"1"', { metadata: {} })).status).toBe(412)
    expect((await send('DELETE', '"1"')).status).toBe(412)
    expect((await send('DELETE', '"2"')).status).toBe(204)
    expect((await send('DELETE', '"2"')).status).toBe(404)
    expect((await send('PATCH', '"2"', {})).status).toBe(404)
  })

  it('is not found by another id, in another thread, agent or space', async () => {
    const thread = await chat.thread(agentId)
    const message = await chat.message(thread)
    const [otherThread, otherAgent] = [await chat.thread(agentId), await chat.agent()]
    const elsewhere = chatIn(platform, other.spaceId, other.apiKey)
    for (const [where, path] of [
      [chat, `${thread}/message/${UNKNOWN_ID}`],
      [chat, `${thread}/message/x`],
      [chat, `${otherThread}/message/${idOf(message)}`],
      [chat, message.replace(agentId, otherAgent)],
      [chat, message.replace(agentId, 'x')],
      [elsewhere, message],
    ] as const) {
      for (const [method, body] of [['GET'], ['PATCH', { metadata: { taken: true } }], ['DELETE']] as const) {
        const answer = await where.call(method, path, body)
        expect([answer.status, answer.body.code], `${method} ${path}`).toEqual([404, 'MESSAGE_NOT_FOUND'])
      }
    }
    expect((await chat.call('GET', message)).body.metadata).toEqual({})
  })

  it('is closed to strangers and to nobody in particular', async () => {
    const message = `/agents/v1/spaces/${home.spaceId}${await chat.message(await chat.thread(agentId))}`
    const list = message.slice(0, message.lastIndexOf('/'))
    for (const [method, path, body] of [
      ['GET', message],
      ['PATCH', message, {}],
      ['DELETE', message],
      ['GET', list],
      ['POST', list, messageOf('x')],
      ['QUERY', list],
    ] as const) {
      const sent = body === undefined ? {} : { body }
      expect((await platform.call(method, path, { token: other.apiKey, ...sent })).status).toBe(403)
      expect((await platform.call(method, path, sent)).status).toBe(401)
    }
  })
})

describe('listing messages', () => {
  it('gives them in the order of creation, by role, in pages', async () => {
    const thread = await chat.thread(agentId)
    expect((await chat.call('GET', `${thread}/message`)).body).toEqual([])
    const made: string[] = []
    for (const role of ['system', 'user', 'assistant', 'user', 'tool']) {
      made.push(idOf(await chat.message(thread, { role, metadata: { role } })))
    }
    const at = (body: Listed[]) => body.map(({ messageId }) => made.indexOf(messageId))
    const listed = async (query: string) => at((await chat.call('GET', `${thread}/message${query}`)).body)
    expect(await listed('')).toEqual([0, 1, 2, 3, 4])
    expect(await listed('?role=user')).toEqual([1, 3])
    expect(await listed('?role=tool&limit=1')).toEqual([4])
    expect(await listed('?limit=2&page=3')).toEqual([4])
    const queried = await chat.call('QUERY', `${thread}/message?limit=2&page=1`, {
      metadata: { role: ['user', 'tool'] },
    })
    expect(at(queried.body)).toEqual([1, 3])
    expect(at((await chat.call('QUERY', `${thread}/message`)).body)).toEqual([0, 1, 2, 3, 4])
    for (const query of ['role=robot', 'role=', 'limit=x']) {
      expect((await chat.call('GET', `${thread}/message?${query}`)).status, query).toBe(400)
    }
  })

  it('keeps the order of creation where the clock stands still or goes back', async () => {
    const thread = await chat.thread(agentId)
    const first = await chat.message(thread)
    await platform.pool.query(
      "UPDATE agents.messages SET created_at = now() + interval '1 hour' WHERE message_id = $1",
      [idOf(first)],
    )
    await platform.pool.query(
      'UPDATE agents.threads SET last_message_at = (SELECT max(created_at) FROM agents.messages WHERE thread_id = $1) WHERE thread_id = $1',
      [idOf(thread)],
    )
    const made = [first]
    for (let i = 0; i < 4; i++) made.push(await chat.message(thread))
    const listed = (await chat.call('GET', `${thread}/message`)).body as Listed[]
    expect(listed.map(({ messageId }) => messageId)).toEqual(made.map(idOf))
    expect(await lastMessageAt(thread)).toBe(listed.at(-1)?.createdAt)
  })
})
