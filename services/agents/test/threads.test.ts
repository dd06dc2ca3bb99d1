import { setTimeout } from 'node:timers/promises'
import { sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { type Chat, chatIn, UNKNOWN_ID } from './chat.ts'

type Space = Awaited<ReturnType<TestPlatform['space']>>

let platform: TestPlatform
let home: Space
let other: Space
let chat: Chat
let agentId = ''

beforeAll(async () => {
  platform = await sharedTestPlatform()
  ;[home, other] = [await platform.space(), await platform.space()]
  chat = chatIn(platform, home.spaceId, home.apiKey)
  agentId = await chat.agent()
})

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/
const idOf = (path: string): string => path.split('/').at(-1) ?? ''

describe('beginning a thread', () => {
  it.each([[undefined], [''], ['null'], [{}]])(
    'is open and has no message, with the body %j',
    async (body) => {
      const answer = await chat.call('POST', `/agent/${agentId}/thread`, body)
      expect(answer.status).toBe(201)
      expect(answer.body).toEqual({
        threadId: expect.any(String),
        spaceId: home.spaceId,
        agentId,
        status: 'open',
        metadata: {},
        createdAt: expect.stringMatching(TIME),
        updatedAt: answer.body.createdAt,
        lastMessageAt: null,
      })
      const read = await chat.call('GET', `/agent/${agentId}/thread/${answer.body.threadId}`)
      expect(read.body).toEqual(answer.body)
      expect(read.headers.get('etag')).toBe(answer.headers.get('etag'))
    },
  )

  it.each(['open', 'archived', 'completed'])('takes the status %s', async (status) => {
    const input = { title: 'T', status, metadata: { a: { b: 1 } } }
    const { status: code, body } = await chat.call('POST', `/agent/${agentId}/thread`, {
      ...input,
      lastMessageAt: '1999-01-01T00:00:00.000+00:00',
      threadId: UNKNOWN_ID,
    })
    expect(code).toBe(201)
    expect(body).toMatchObject({ ...input, lastMessageAt: null })
    expect(body.threadId).not.toBe(UNKNOWN_ID)
  })

  it.each([
    { status: 'closed' },
    { status: null },
    { title: 5 },
    { title: null },
    { metadata: 'x' },
    { metadata: [1] },
  ])('refuses %j', async (body) => {
    const answer = await chat.call('POST', `/agent/${agentId}/thread`, body)
    expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_INPUT'])
    expect(answer.body.message).toContain(`body.${Object.keys(body)[0]}`)
  })

  it('needs an agent of this space', async () => {
    const elsewhere = chatIn(platform, other.spaceId, other.apiKey)
    for (const [where, id] of [
      [chat, UNKNOWN_ID],
      [chat, 'nothing'],
      [elsewhere, agentId],
    ] as const) {
      const answer = await where.call('POST', `/agent/${id}/thread`, {})
      expect([answer.status, answer.body.code]).toEqual([404, 'AGENT_NOT_FOUND'])
    }
    expect((await elsewhere.call('GET', '/agent')).body).toEqual([])
  })

  it('answers 404, and never 500, when its agent goes at that moment', async () => {
    for (let round = 0; round < 5; round++) {
      const doomed = await chat.agent()
      const posts = Array.from({ length: 8 }, () => chat.call('POST', `/agent/${doomed}/thread`, {}))
      const [deleted, ...answers] = await Promise.all([chat.call('DELETE', `/agent/${doomed}`), ...posts])
      expect(deleted?.status).toBe(204)
      for (const { status } of answers) expect([201, 404]).toContain(status)
      const left = await platform.pool.query('SELECT FROM agents.threads WHERE agent_id = $1', [doomed])
      expect(left.rowCount).toBe(0)
    }
  })
})

describe('one thread', () => {
  it('is not found by another id, under another agent or in another space', async () => {
    const path = await chat.thread(agentId)
    const otherAgent = await chat.agent()
    const elsewhere = chatIn(platform, other.spaceId, other.apiKey)
    const theirAgent = await elsewhere.agent()
    for (const [where, wrong] of [
      [chat, `/agent/${agentId}/thread/${UNKNOWN_ID}`],
      [chat, `/agent/${agentId}/thread/x`],
      [chat, `/agent/x/thread/${idOf(path)}`],
      [chat, `/agent/${otherAgent}/thread/${idOf(path)}`],
      [elsewhere, path],
      [elsewhere, `/agent/${theirAgent}/thread/${idOf(path)}`],
    ] as const) {
      for (const [method, body] of [['GET'], ['PATCH', { title: 'taken' }], ['DELETE']] as const) {
        const answer = await where.call(method, wrong, body)
        expect([answer.status, answer.body.code], `${method} ${wrong}`).toEqual([404, 'THREAD_NOT_FOUND'])
      }
    }
    expect((await chat.call('GET', path)).body).not.toHaveProperty('title')
  })

  it('is closed to strangers, and to nobody in particular', async () => {
    const path = `/agents/v1/spaces/${home.spaceId}${await chat.thread(agentId)}`
    for (const method of ['GET', 'PATCH', 'DELETE']) {
      const body = method === 'PATCH' ? { body: {} } : {}
      expect((await platform.call(method, path, { token: other.ownerToken, ...body })).status).toBe(403)
      expect((await platform.call(method, path, body)).status).toBe(401)
    }
  })

  it('changes status, title and metadata, each alone', async () => {
    const path = await chat.thread(agentId, { title: 'before', metadata: { a: 1 } })
    const before = (await chat.call('GET', path)).body
    // Times are shown in milliseconds.
    await setTimeout(2)
    for (const status of ['archived', 'completed', 'open']) {
      const { body } = await chat.call('PATCH', path, { status, agentId: UNKNOWN_ID })
      expect(body).toEqual({ ...before, status, updatedAt: expect.stringMatching(TIME) })
      expect(body.updatedAt > before.updatedAt).toBe(true)
    }
    expect((await chat.call('PATCH', path, { title: '' })).body).toMatchObject({
      title: '',
      metadata: { a: 1 },
    })
    expect((await chat.call('PATCH', path, { metadata: { b: null } })).body.metadata).toEqual({ b: null })
    for (const body of [{ status: 'done' }, { title: 1 }, { metadata: 3 }]) {
      expect((await chat.call('PATCH', path, body)).status).toBe(400)
    }
  })

  it('honours If-Match on writes', async () => {
    const path = await chat.thread(agentId)
    const send = (method: string, tag: string, body?: unknown) =>
      chat.call(method, path, body, { headers: { 'if-match': tag } })
    expect((await send('PATCH', '"1"', { title: 'a' })).headers.get('etag')).toBe('"2"')
    expect((await send('PATCH', '"1"', { title: 'b' })).status).toBe(412)
    expect((await send('DELETE', '"1"')).status).toBe(412)
    expect((await send('DELETE', '"2"')).status).toBe(204)
    expect((await send('PATCH', '"2"', { title: 'b' })).status).toBe(404)
  })
})

describe('listing threads', () => {
  it('gives those of one agent in the order of their creation, by status', async () => {
    const mine = await chat.agent()
    expect((await chat.call('GET', `/agent/${mine}/thread`)).body).toEqual([])
    const made: string[] = []
    for (const status of ['open', 'archived', 'completed', 'archived']) {
      made.push(idOf(await chat.thread(mine, { status, metadata: { status } })))
    }
    await chat.thread(agentId)
    const listed = async (query: string) => {
      const { body } = await chat.call('GET', `/agent/${mine}/thread${query}`)
      return (body as { threadId: string }[]).map(({ threadId }) => made.indexOf(threadId))
    }
    expect(await listed('')).toEqual([0, 1, 2, 3])
    expect(await listed('?status=archived')).toEqual([1, 3])
    expect(await listed('?status=completed')).toEqual([2])
    expect(await listed('?limit=2&page=2')).toEqual([2, 3])
    expect(await listed('?limit=1&page=2&status=archived')).toEqual([3])
    expect(await listed('?limit=2&page=5')).toEqual([])
    const queried = await chat.call('QUERY', `/agent/${mine}/thread?limit=1&page=2`, {
      metadata: { status: ['archived', 'x'] },
    })
    expect(queried.body.map(({ threadId }: { threadId: string }) => made.indexOf(threadId))).toEqual([3])
    expect((await chat.call('QUERY', `/agent/${mine}/thread`)).body).toHaveLength(4)
    for (const query of ['status=closed', 'status=', 'limit=0']) {
      expect((await chat.call('GET', `/agent/${mine}/thread?${query}`)).status, query).toBe(400)
    }
  })

  it.each(['GET', 'QUERY'])(
    '%s: 404 for an agent that is not here, 403 and 401 for who may not',
    async (method) => {
      const elsewhere = chatIn(platform, other.spaceId, other.apiKey)
      for (const [where, id] of [
        [chat, UNKNOWN_ID],
        [chat, 'x'],
        [elsewhere, agentId],
      ] as const) {
        const answer = await where.call(method, `/agent/${id}/thread`)
        expect([answer.status, answer.body.code]).toEqual([404, 'AGENT_NOT_FOUND'])
      }
      const path = `/agents/v1/spaces/${home.spaceId}/agent/${agentId}/thread`
      expect((await platform.call(method, path, { token: other.memberToken })).status).toBe(403)
      expect((await platform.call(method, path)).status).toBe(401)
    },
  )
})
