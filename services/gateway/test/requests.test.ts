import { startTestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hello, startWithFake } from './platform.ts'

let gateway: Awaited<ReturnType<typeof startWithFake>>
beforeAll(async () => {
  gateway = await startWithFake()
})
afterAll(() => gateway[Symbol.asyncDispose]())

const { messages } = hello

describe('requests that are wrong', () => {
  test.each([
    ['no body', undefined, 400, null],
    ['not JSON', '{"model":', 400, null],
    ['a list', [], 400, null],
    ['no model', { messages }, 400, 'model'],
    ['no messages', { model: 'gpt-4o' }, 400, 'messages'],
    ['an unknown model', { model: 'gpt-99', messages }, 400, 'model'],
    ['a model of another kind', { model: 'whisper', messages }, 400, 'model'],
    ['a model of another region', { model: 'qwen3.5-omni-plus-realtime', messages }, 400, 'model'],
    ['NUL', { model: 'gpt-4o', messages: [{ role: 'user', content: '\0' }] }, 400, 'messages[0].content'],
    ['depth', `{"model":"gpt-4o","messages":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, 400, null],
    ['2 MiB', { model: 'gpt-4o', messages: [{ role: 'user', content: 'x'.repeat(2 ** 21) }] }, 413, null],
    ['a model that is a number', { model: 5, messages }, 422, 'model'],
    ['no messages in the list', { model: 'gpt-4o', messages: [] }, 422, 'messages'],
    ['a message without a role', { model: 'gpt-4o', messages: [{ content: 'a' }] }, 422, 'messages[0]'],
    ['a temperature out of range', { ...hello, temperature: 2.5 }, 422, 'temperature'],
    ['text for a boolean', { ...hello, stream: 'yes' }, 422, 'stream'],
    ['n of 0', { ...hello, n: 0 }, 422, 'n'],
    ['max_tokens of 1.5', { ...hello, max_tokens: 1.5 }, 422, 'max_tokens'],
  ])('%s', async (_name, body, status, param) => {
    const answer = await gateway.chat(body)
    expect(answer.status).toBe(status)
    expect(answer.body.error).toMatchObject({
      message: expect.any(String),
      type: 'invalid_request_error',
      param,
    })
  })

  test.each([
    ['model', '"model":"gpt-5-nano","model":"gpt-5"'],
    ['model', '"model":"gpt-5-nano","\\u006dodel":"gpt-5"'],
    ['Model', '"model":"gpt-5-nano","Model":"gpt-5"'],
    ['MODEL', '"MODEL":"gpt-5","model":"gpt-5-nano"'],
    ['\\u004dodel', '"model":"gpt-5-nano","\\u004dodel":"gpt-5"'],
    ['Stream', '"model":"gpt-5-nano","stream":false,"Stream":true'],
    ['ſtream', '"model":"gpt-5-nano","ſtream":true'],
    ['max_toKens', '"model":"gpt-5-nano","max_toKens":9'],
    ['n', '"model":"gpt-5-nano","n":1,"x":{"n":5},"n":128'],
  ])('what would be charged and what might be served are the same: %s', async (field, members) => {
    gateway.fake.requests.length = 0
    const name = JSON.parse(`"${field}"`) as string
    const answer = await gateway.raw(`{${members},"messages":${JSON.stringify(messages)}}`)
    expect(answer.status).toBe(400)
    const { error } = (await answer.json()) as { error: { message: string } }
    expect(error).toMatchObject({ param: name, message: expect.stringContaining(`'${name}'`) })
    expect(gateway.fake.requests).toEqual([])
    if (!name.toLowerCase().includes('model')) return
    const embeddings = await fetch(`${gateway.platform.url}/llm/v1/embeddings`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.space.apiKey}`, 'content-type': 'application/json' },
      body: `{"input":[${'1,'.repeat(300_000)}1],${members}}`,
    })
    expect(embeddings.status).toBe(400)
    expect(await embeddings.text()).toContain(`'${name}'`)
    expect(gateway.fake.requests).toEqual([])
  })

  test('fields of others may look like ours', async () => {
    const body = {
      ...hello,
      metadata: { Model: 'a', model: 'b' },
      models: [],
      Model_: 1,
      x: { Stream: true },
    }
    expect((await gateway.chat(body)).status).toBe(200)
  })

  test('null means not set', async () => {
    const answer = await gateway.chat({ ...hello, temperature: null, stream: null, tools: null, stop: null })
    expect(answer.status).toBe(200)
  })

  test('a wrong content type, path and method', async () => {
    const { platform, space } = gateway
    const form = await platform.call('POST', '/llm/v1/chat/completions', {
      token: space.apiKey,
      body: 'model=gpt-4o',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(form.status).toBe(400)
    const path = await platform.call('GET', '/llm/v1/nothing', { token: space.apiKey })
    expect([path.status, path.body.error.type]).toEqual([404, 'invalid_request_error'])
    const method = await platform.call('DELETE', '/llm/v1/models', { token: space.apiKey })
    expect([method.status, method.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })

  test('a model without a backend says what to set', async () => {
    await using none = await startTestPlatform({
      env: { ATRIUM_SANDBOX: 'off', NODE_ENV: 'production' },
    })
    const { apiKey } = await none.space()
    const answer = await none.call('POST', '/llm/v1/chat/completions', { token: apiKey, body: hello })
    expect(answer.status).toBe(503)
    expect(answer.body.error.code).toBe('backend_not_configured')
    expect(answer.body.error.message).toContain('OPENAI_API_KEY')
  })

  test('a server gets the models that it lists, under the name that its list has, and no other', async () => {
    await using named = await startWithFake({ fake: { models: ['gpt-41', 'gpt-4.1-mini'] } })
    const sent = async (model: string) => {
      expect((await named.chat({ ...hello, model })).status).toBe(200)
      return (JSON.parse(named.fake.requests.at(-1)?.body.toString() ?? '{}') as { model: string }).model
    }
    expect(await sent('gpt-41')).toBe('gpt-41')
    expect(await sent('gpt-41-mini')).toBe('gpt-4.1-mini')
    const answer = await named.chat({ ...hello, model: 'gpt-4o' })
    expect([answer.status, answer.body.error.code]).toEqual([503, 'backend_not_configured'])
    expect(answer.body.error.message).toContain('openai does not list it')
    expect(named.fake.requests.filter(({ path }) => path !== '/v1/models')).toHaveLength(2)
  })
})

describe('credentials', () => {
  const send = (headers: Record<string, string>, region = 'llm') =>
    gateway.platform.call('POST', `/${region}/v1/chat/completions`, { body: hello, headers })

  test.each([
    ['none', {}],
    ['no Bearer prefix', { authorization: 'ac0c3a3c-0000-4000-8000-000000000000' }],
    ['Basic', { authorization: 'Basic YTpi' }],
    ['an unknown key', { authorization: 'Bearer ac0c3a3c-0000-4000-8000-000000000000' }],
    ['nothing after Bearer', { authorization: 'Bearer ' }],
  ])('%s', async (_name, headers) => {
    const answer = await send(headers as Record<string, string>)
    expect(answer.status).toBe(401)
    expect(answer.body.error.type).toBe('authentication_error')
    const isPresented = /^Bearer \S/.test((headers as { authorization?: string }).authorization ?? '')
    expect(answer.headers.get('www-authenticate')).toMatch(
      isPresented ? /^Bearer error="invalid_token", error_description="[^"]+"$/ : /^Bearer$/,
    )
  })

  test('user and M2M tokens are refused, with the reason', async () => {
    for (const token of [gateway.space.ownerToken, gateway.platform.superuserClient.token]) {
      for (const region of ['llm', 'llm-cn']) {
        const answer = await send({ authorization: `Bearer ${token}` }, region)
        expect(answer.status).toBe(401)
        expect(answer.body.error.message).toContain('API keys only')
      }
    }
  })

  test('keys of the old format are told so outside China', async () => {
    const answer = await send({ authorization: 'Bearer oldkey123456' })
    expect(answer.status).toBe(401)
    expect(answer.body.error.message).toMatch(/deprecated.*portal/)
    const china = await send({ authorization: 'Bearer oldkey123456' }, 'llm-cn')
    expect(china.body.error.message).not.toContain('deprecated')
  })

  test('a revoked key ends within a second', async () => {
    const { platform, space } = gateway
    const made = await platform.call('POST', `/portal/v1/spaces/${space.spaceId}/apikeys`, {
      token: platform.superuser.token,
      body: { name: 'short-lived' },
    })
    const headers = { authorization: `Bearer ${made.body.apiKeyValue}` }
    expect(made.status).toBe(201)
    expect((await send(headers)).status).toBe(200)
    const { apiKeyId } = made.body
    await platform.call('DELETE', `/portal/v1/spaces/${space.spaceId}/apikeys/${apiKeyId}`, {
      token: space.ownerToken,
    })
    await expect.poll(async () => (await send(headers)).status, { timeout: 10_000 }).toBe(401)
  })
})

describe('models', () => {
  const get = (path: string) => gateway.platform.call('GET', path, { token: gateway.space.apiKey })

  test('are listed by region in OpenAI’s form', async () => {
    const row = await get('/llm/v1/models')
    const cn = await get('/llm-cn/v1/models')
    const ids = (answer: typeof row): string[] => answer.body.data.map(({ id }: { id: string }) => id)
    // Bedrock's, DashScope's and those of kinds without an endpoint cannot be called.
    expect(ids(row)).toEqual(expect.arrayContaining(['gpt-4o', 'gpt-41', 'text-embedding-3-small']))
    expect(ids(cn)).toEqual([])
    for (const { id, kind, available } of row.body.data) {
      expect([id, available]).toEqual([id, true])
      const answer =
        kind === 'chat'
          ? await gateway.chat({ ...hello, model: id })
          : await gateway.platform.call('POST', '/llm/v1/embeddings', {
              token: gateway.space.apiKey,
              body: { model: id, input: 'a' },
            })
      expect([id, answer.status]).toEqual([id, 200])
    }
    for (const id of ['claude-sonnet-4.6', 'gpt-5-codex', 'gpt-image-1', 'whisper'])
      expect([id, (await get(`/llm/v1/models/${id}`)).body.available]).toEqual([id, false])
    const wrong = await gateway.chat({ ...hello, model: 'text-embedding-3-small' })
    expect(wrong.body.error.message).toContain('is an embeddings model')
    const listed = await gateway.client.models.list()
    expect(listed.data.find(({ id }) => id === 'gpt-4o')).toMatchObject({
      owned_by: 'openai',
      available: true,
    })
  })

  test('one by one', async () => {
    const one = await get('/llm/v1/models/gpt-41')
    expect(one.body).toMatchObject({ id: 'gpt-41', object: 'model', kind: 'chat', context_window: 1_047_576 })
    expect((await get('/llm/v1/models/gpt-99')).status).toBe(404)
    expect((await get('/llm-cn/v1/models/gpt-41')).status).toBe(404)
    expect((await gateway.platform.call('GET', '/llm/v1/models')).status).toBe(401)
    expect((await gateway.platform.call('GET', '/llm/v1/models/gpt-41')).status).toBe(401)
  })

  test('those of a local server come along, free of charge', async () => {
    await using local = await startWithFake({ isFound: true, fake: { models: ['gpt-4.1', 'org/llama-4'] } })
    const models = await local.client.models.list()
    const available = models.data.filter((model) => 'available' in model && model.available === true)
    expect(available.map(({ id }) => id)).toEqual(['gpt-41', 'org/llama-4'])
    expect((await local.client.models.retrieve('org/llama-4')).owned_by).toBe('fake')
    const at = (path: string) =>
      fetch(`${local.platform.url}/llm/v1/models/${path}`, {
        headers: { authorization: `Bearer ${local.space.apiKey}` },
      })
    expect(await (await at('org/llama-4')).json()).toMatchObject({ id: 'org/llama-4' })
    const missing = await at('org/llama-5')
    expect([missing.status, await missing.json()]).toMatchObject([
      404,
      { error: { code: 'model_not_found' } },
    ])
    expect((await local.chat({ ...hello, model: 'org/llama-4' })).status).toBe(200)
    const [usage] = await local.usage(1)
    expect(Number(usage?.amount)).toBe(0)
  })
})

describe('the sandbox', () => {
  test('says what it is, and is priced like the model', async () => {
    await using sandbox = await startWithFake({
      env: { OPENAI_BASE_URL: '', OPENAI_API_KEY: '', ATRIUM_SANDBOX: 'on' },
    })
    const answer = await sandbox.chat({ ...hello, n: 2 })
    expect(answer.headers.get('x-atrium-backend')).toBe('sandbox')
    expect(answer.body.choices[1].message.content).toMatch(/^\[sandbox\]/)
    const again = await sandbox.chat({ ...hello, n: 2 })
    expect(again.body.choices).toEqual(answer.body.choices)
    const short = await sandbox.chat({ ...hello, max_tokens: 3 })
    expect(short.body.choices[0].finish_reason).toBe('length')
    expect(short.body.usage.completion_tokens).toBe(3)
    const stream = sandbox.client.chat.completions.stream({
      ...hello,
      stream_options: { include_usage: true },
    })
    expect((await stream.finalMessage()).content).toMatch(/^\[sandbox\]/)
    expect((await stream.totalUsage()).completion_tokens).toBeGreaterThan(5)
    const [usage] = await sandbox.usage(4)
    expect(usage).toMatchObject({ model: 'gpt-4o (sandbox)', requests: 4 })
    expect(Number(usage?.amount)).toBeGreaterThan(0)
  })
})
