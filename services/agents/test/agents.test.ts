import { setTimeout } from 'node:timers/promises'
import { sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { AGENT_INPUT, type Chat, chatIn, messageOf, UNKNOWN_ID } from './chat.ts'

type Space = Awaited<ReturnType<TestPlatform['space']>>

let platform: TestPlatform
let home: Space
let other: Space
let chat: Chat

beforeAll(async () => {
  platform = await sharedTestPlatform()
  ;[home, other] = [await platform.space(), await platform.space()]
  chat = chatIn(platform, home.spaceId, home.memberToken)
})

const emptySpace = async (): Promise<Chat> => {
  const { spaceId, apiKey } = await platform.space()
  return chatIn(platform, spaceId, apiKey)
}

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00$/

describe('creating an agent', () => {
  it('answers its ids, and sets the provider from the model', async () => {
    const answer = await chat.call('POST', '/agent?model=gpt-4o', {
      ...AGENT_INPUT,
      defaultParameters: {
        temperature: 0.2,
        max_tokens: 100,
        top_p: 1,
        frequency_penalty: -2,
        presence_penalty: 2,
      },
      metadata: { team: 'search', nested: { deep: [1, null, true] }, 'dotted.key': 'x' },
    })
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({ agentId: expect.any(String), spaceId: home.spaceId })
    expect(answer.headers.get('etag')).toBe('"1"')
    const { body, headers } = await chat.call('GET', `/agent/${answer.body.agentId}`)
    expect(headers.get('etag')).toBe('"1"')
    expect(body).toEqual({
      ...AGENT_INPUT,
      agentId: answer.body.agentId,
      spaceId: home.spaceId,
      model: 'gpt-4o',
      provider: 'openai',
      createdAt: expect.stringMatching(TIME),
      updatedAt: body.createdAt,
      defaultParameters: {
        temperature: 0.2,
        max_tokens: 100,
        top_p: 1,
        frequency_penalty: -2,
        presence_penalty: 2,
      },
      metadata: { team: 'search', nested: { deep: [1, null, true] }, 'dotted.key': 'x' },
    })
  })

  it('takes a responses model, and ignores fields of the server’s and unknown ones', async () => {
    const models = (await platform.call('GET', '/agents/v1/models', { token: home.apiKey })).body
    const responses = 'gpt-5-codex'
    const card = await platform.call('GET', `/llm/v1/models/${responses}`, { token: home.apiKey })
    expect(card.body.kind).toBe('responses')
    expect(models.some(({ name }: { name: string }) => name === responses)).toBe(true)
    const made = await chat.call('POST', `/agent?model=${responses}`, {
      ...AGENT_INPUT,
      agentId: UNKNOWN_ID,
      spaceId: other.spaceId,
      provider: 'me',
      model: 'gpt-4o',
      createdAt: '1999-01-01T00:00:00.000+00:00',
      createdBy: { ...AGENT_INPUT.createdBy, isAdmin: true },
      defaultParameters: { temperature: 1, seed: 3 },
      surprise: 1,
    })
    expect(made.status).toBe(201)
    const { body } = await chat.call('GET', `/agent/${made.body.agentId}`)
    expect(body).toMatchObject({ model: responses, spaceId: home.spaceId, metadata: {} })
    expect(body.agentId).not.toBe(UNKNOWN_ID)
    expect(body.provider).not.toBe('me')
    expect(body.createdBy).toEqual(AGENT_INPUT.createdBy)
    expect(body.defaultParameters).toEqual({ temperature: 1 })
    expect(body).not.toHaveProperty('surprise')
    expect(body.createdAt).not.toContain('1999')
  })

  it.each<[string, unknown]>([
    ['name', undefined],
    ['name', ''],
    ['name', '  '],
    ['name', 5],
    ['name', null],
    ['name', 'x'.repeat(513)],
    ['instructions', undefined],
    ['instructions', ['a']],
    ['description', undefined],
    ['outputFormat', undefined],
    ['outputFormat', ''],
    ['createdBy', undefined],
    ['createdBy', {}],
    ['createdBy', { qxId: 'q' }],
    ['createdBy', { name: 'n' }],
    ['createdBy', { qxId: 1, name: 'n' }],
    ['createdBy', 'Ada'],
    ['metadata', 'text'],
    ['metadata', []],
    ['metadata', null],
    ['defaultParameters', []],
    ['defaultParameters', { temperature: 2.01 }],
    ['defaultParameters', { temperature: -0.01 }],
    ['defaultParameters', { temperature: '1' }],
    ['defaultParameters', { max_tokens: 0 }],
    ['defaultParameters', { max_tokens: 1.5 }],
    ['defaultParameters', { top_p: 1.1 }],
    ['defaultParameters', { top_p: -1 }],
    ['defaultParameters', { frequency_penalty: 2.1 }],
    ['defaultParameters', { presence_penalty: -2.1 }],
  ])('refuses %s as %j and names it', async (field, value) => {
    const answer = await chat.call('POST', '/agent?model=gpt-4o', { ...AGENT_INPUT, [field]: value })
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({
      error: true,
      message: expect.stringContaining(`body.${field}`),
      code: 'INVALID_INPUT',
    })
  })

  it('refuses a missing model, an unknown one and one of another kind', async () => {
    const none = await chat.call('POST', '/agent', AGENT_INPUT)
    expect([none.status, none.body.message]).toEqual([400, 'query.model is required'])
    for (const model of [
      'gpt-99',
      'text-embedding-3-small',
      '__proto__',
      'x'.repeat(200),
      encodeURIComponent("';--"),
    ]) {
      const answer = await chat.call('POST', `/agent?model=${model}`, AGENT_INPUT)
      expect([answer.status, answer.body.code], model).toEqual([400, 'MODEL_NOT_FOUND'])
    }
  })

  it('is for those in the space, with any credential', async () => {
    const path = `/agents/v1/spaces/${home.spaceId}/agent?model=gpt-4o`
    const post = (token: string) => platform.call('POST', path, { token, body: AGENT_INPUT })
    for (const token of [
      home.ownerToken,
      home.apiKey,
      platform.superuser.token,
      platform.superuserClient.token,
    ]) {
      expect((await post(token)).status).toBe(201)
    }
    for (const token of [other.ownerToken, other.memberToken, other.apiKey]) {
      const answer = await post(token)
      expect([answer.status, answer.body.code]).toEqual([403, 'FORBIDDEN'])
    }
    expect((await platform.call('POST', path, { body: AGENT_INPUT })).status).toBe(401)
    const nowhere = await platform.call('POST', `/agents/v1/spaces/${UNKNOWN_ID}/agent?model=gpt-4o`, {
      token: platform.superuser.token,
      body: AGENT_INPUT,
    })
    expect([nowhere.status, nowhere.body.code]).toEqual([404, 'SPACE_NOT_FOUND'])
  })
})

describe('one agent', () => {
  it('is not found by an unknown id, an id of another form, or under another space', async () => {
    const agentId = await chat.agent()
    const elsewhere = chatIn(platform, other.spaceId, other.ownerToken)
    for (const [where, id] of [
      [chat, UNKNOWN_ID],
      [chat, 'not-a-uuid'],
      [chat, "' OR 1=1 --"],
      [elsewhere, agentId],
    ] as const) {
      for (const [method, body] of [['GET'], ['PATCH', { name: 'taken' }], ['DELETE']] as const) {
        const answer = await where.call(method, `/agent/${encodeURIComponent(id)}`, body)
        expect([answer.status, answer.body.code], `${method} ${id}`).toEqual([404, 'AGENT_NOT_FOUND'])
      }
    }
    expect((await chat.call('GET', `/agent/${agentId}`)).body.name).toBe('Helper')
  })

  it('changes only in the given fields; model sets the provider; updatedBy is the caller unless given', async () => {
    const agentId = await chat.agent({ metadata: { a: 1, b: 2 }, defaultParameters: { temperature: 1 } })
    const before = (await chat.call('GET', `/agent/${agentId}`)).body
    // Times are shown in milliseconds.
    await setTimeout(2)
    const first = await chat.call('PATCH', `/agent/${agentId}`, {
      metadata: { b: 3 },
      agentId: UNKNOWN_ID,
      provider: 'me',
      createdBy: { qxId: 'qx-eve', name: 'Eve' },
    })
    expect(first.status).toBe(200)
    expect(first.headers.get('etag')).toBe('"2"')
    expect(first.body).toEqual({
      ...before,
      metadata: { b: 3 },
      updatedAt: expect.stringMatching(TIME),
      updatedBy: { qxId: expect.stringMatching(/^qx-member/), name: expect.stringMatching(/^Name of/) },
    })
    expect(first.body.updatedAt > before.updatedAt).toBe(true)
    const second = await chat.call('PATCH', `/agent/${agentId}`, {
      name: 'Other',
      instructions: '',
      description: 'd',
      outputFormat: 'json',
      model: 'claude-haiku-4.5',
      defaultParameters: {},
      updatedBy: { qxId: 'qx-bob', name: 'Bob' },
    })
    expect(second.body, JSON.stringify(second.body)).toMatchObject({
      name: 'Other',
      instructions: '',
      description: 'd',
      outputFormat: 'json',
      defaultParameters: {},
      updatedBy: { qxId: 'qx-bob', name: 'Bob' },
      createdBy: AGENT_INPUT.createdBy,
      metadata: { b: 3 },
    })
    expect(second.body.provider).not.toBe('openai')
    expect((await chat.call('GET', `/agent/${agentId}`)).body).toEqual(second.body)
  })

  it('refuses changes that are not valid, and stores nothing of them', async () => {
    const agentId = await chat.agent()
    for (const body of [
      { name: '' },
      { name: null },
      { model: 'gpt-99' },
      { model: 7 },
      { updatedBy: { qxId: 'x' } },
      { defaultParameters: { top_p: 3 }, name: 'changed' },
      { metadata: [] },
      [],
      'text',
    ]) {
      expect((await chat.call('PATCH', `/agent/${agentId}`, JSON.stringify(body))).status).toBe(400)
    }
    expect((await chat.call('PATCH', `/agent/${agentId}`)).status).toBe(400)
    expect((await chat.call('GET', `/agent/${agentId}`)).headers.get('etag')).toBe('"1"')
  })

  it('honours If-Match on writes', async () => {
    const agentId = await chat.agent()
    const send = (method: string, tag: string, body?: unknown) =>
      chat.call(method, `/agent/${agentId}`, body, { headers: { 'if-match': tag } })
    expect((await send('PATCH', '"1"', { name: 'v2' })).status).toBe(200)
    const stale = await send('PATCH', '"1"', { name: 'v3' })
    expect([stale.status, stale.body.code]).toEqual([412, 'PRECONDITION_FAILED'])
    expect((await send('DELETE', '"1"')).status).toBe(412)
    expect((await send('PATCH', 'W/"2"', { name: 'v3' })).status).toBe(412)
    expect((await send('PATCH', '*', { name: 'v3' })).status).toBe(200)
    expect((await send('DELETE', '"9", "3"')).status).toBe(204)
    expect((await send('DELETE', '"3"')).status).toBe(404)
    expect((await send('PATCH', '"3"', { name: 'v4' })).status).toBe(404)
  })

  it('lets exactly one of many writers with the same tag win', async () => {
    const agentId = await chat.agent()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        chat.call(
          'PATCH',
          `/agent/${agentId}`,
          { name: `writer ${index}` },
          { headers: { 'if-match': '"1"' } },
        ),
      ),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(412)])
  })

  it('takes its threads and messages with it', async () => {
    const [doomed, kept] = [await chat.agent(), await chat.agent()]
    const paths = [await chat.thread(doomed), await chat.thread(doomed), await chat.thread(kept)]
    for (const path of paths) await chat.call('POST', `${path}/message`, messageOf('hello'))
    const gone = await chat.call('DELETE', `/agent/${doomed}`)
    expect([gone.status, gone.body]).toEqual([204, ''])
    for (const path of [`/agent/${doomed}`, `/agent/${doomed}/thread`, ...paths.slice(0, 2)]) {
      expect((await chat.call('GET', path)).status, path).toBe(404)
    }
    expect((await chat.call('GET', `${paths[2]}/message`)).body).toHaveLength(1)
    for (const table of ['threads', 'messages']) {
      const left = await platform.pool.query(
        `SELECT count(*)::int AS n FROM agents.${table} WHERE thread_id = ANY ($1)`,
        [paths.map((path) => path.split('/').at(-1))],
      )
      expect(left.rows[0].n, table).toBe(1)
    }
    expect((await chat.call('DELETE', `/agent/${doomed}`)).status).toBe(404)
  })
})

describe('listing agents', () => {
  it('gives all in the order of their creation, and none of another space', async () => {
    const space = await emptySpace()
    expect((await space.call('GET', '/agent')).body).toEqual([])
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.push(await space.agent({ name: `agent ${5 - i}` }))
    const listed = (await space.call('GET', '/agent')).body as { agentId: string }[]
    expect(listed.map(({ agentId }) => agentId)).toEqual(ids)
    const [first] = listed
    expect(first).toEqual((await space.call('GET', `/agent/${ids[0]}`)).body)
  })

  it('pages, searches and sorts', async () => {
    const space = await emptySpace()
    await space.agent({ name: 'beta', description: 'of GARDENS' })
    await space.agent({ name: 'Alpha', instructions: 'Talk about gardens 100%_\\' })
    await space.agent({ name: 'gamma', outputFormat: 'json' })
    const names = async (query: string) =>
      ((await space.call('GET', `/agent?${query}`)).body as { name: string }[]).map(({ name }) => name)
    expect(await names('limit=2')).toEqual(['beta', 'Alpha'])
    expect(await names('limit=2&page=2')).toEqual(['gamma'])
    expect(await names('limit=2&page=3')).toEqual([])
    expect(await names('page=2')).toEqual(['beta', 'Alpha', 'gamma'])
    expect(await names('search=Gardens')).toEqual(['beta', 'Alpha'])
    expect(await names('search=JSON')).toEqual(['gamma'])
    expect(await names(`search=${encodeURIComponent('100%_\\')}`)).toEqual(['Alpha'])
    expect(await names('search=%25')).toEqual(['Alpha'])
    expect(await names('search=')).toHaveLength(3)
    expect(await names('sortBy=name')).toEqual(['Alpha', 'beta', 'gamma'])
    expect(await names('sortBy=name&sortOrder=desc&limit=2')).toEqual(['gamma', 'beta'])
    expect(await names('sortOrder=desc')).toEqual(['gamma', 'Alpha', 'beta'])
    for (const field of [
      'agentId',
      'instructions',
      'description',
      'model',
      'provider',
      'outputFormat',
      'createdAt',
      'updatedAt',
    ]) {
      expect((await names(`sortBy=${field}`)).sort(), field).toEqual(['Alpha', 'beta', 'gamma'])
    }
    for (const name of ['Zoe', 'Émile', 'äda']) await space.agent({ name })
    expect(await names('sortBy=name')).toEqual(['äda', 'Alpha', 'beta', 'Émile', 'gamma', 'Zoe'])
    for (const query of [
      'limit=0',
      'limit=1001',
      'limit=x',
      'page=0',
      'sortBy=nothing',
      'sortBy=constructor',
      'sortOrder=up',
    ]) {
      expect((await space.call('GET', `/agent?${query}`)).status, query).toBe(400)
    }
  })
})

describe('querying agents by metadata', () => {
  it('answers a page object, with or without a body', async () => {
    const space = await emptySpace()
    const none = await space.call('QUERY', '/agent')
    const alone = { totalRecords: 0, currentPage: 1, totalPages: 0, nextPage: null, prevPage: null }
    expect([none.status, none.body]).toEqual([200, { data: [], pagination: alone }])
    const ids: string[] = []
    for (let i = 0; i < 5; i++) ids.push(await space.agent({ metadata: { even: i % 2 === 0, i } }))
    const found = async (query: string, body?: unknown, options?: object) => {
      const answer = await space.call('QUERY', `/agent${query}`, body, options)
      expect(answer.status).toBe(200)
      const { data, pagination } = answer.body as { data: { agentId: string }[]; pagination: object }
      return { at: data.map(({ agentId }) => ids.indexOf(agentId)), pagination }
    }
    const all = { totalRecords: 5, currentPage: 1, totalPages: 1, nextPage: null, prevPage: null }
    expect(await found('')).toEqual({ at: [0, 1, 2, 3, 4], pagination: all })
    expect(await found('', '')).toEqual({ at: [0, 1, 2, 3, 4], pagination: all })
    expect(await found('', {})).toEqual({ at: [0, 1, 2, 3, 4], pagination: all })
    expect(await found('', { metadata: {} })).toEqual({ at: [0, 1, 2, 3, 4], pagination: all })
    expect(await found('', { metadata: { even: true } })).toEqual({
      at: [0, 2, 4],
      pagination: { ...all, totalRecords: 3 },
    })
    expect(await found('?limit=2&page=2', { metadata: { i: [0, 1, 4] } })).toEqual({
      at: [4],
      pagination: { totalRecords: 3, currentPage: 2, totalPages: 2, nextPage: null, prevPage: 1 },
    })
    expect(await found('?limit=2&page=9')).toEqual({
      at: [],
      pagination: { totalRecords: 5, currentPage: 9, totalPages: 3, nextPage: null, prevPage: 3 },
    })
  })
})
