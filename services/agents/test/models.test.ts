import { sharedTestPlatform, startFakeOpenAi, startTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, it } from 'vitest'
import { AGENT_INPUT } from './chat.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await sharedTestPlatform()
})

interface ModelItem {
  readonly modelId: string
  readonly name: string
  readonly provider: string
}

describe('GET /v1/models', () => {
  it('lists the chat and responses models of the gateway to every valid credential', async () => {
    const { apiKey, memberToken } = await platform.space()
    const stranger = await platform.userToken({ qxId: 'qx-nobody', name: 'Nobody' })
    for (const token of [apiKey, memberToken, stranger, platform.superuserClient.token]) {
      const { status, body } = await platform.call('GET', '/agents/v1/models', { token })
      expect(status).toBe(200)
      const models = body as ModelItem[]
      expect(models.length).toBeGreaterThan(10)
      expect(models).toContainEqual({ modelId: 'gpt-4o', name: 'gpt-4o', provider: 'openai' })
      expect(new Set(models.map(({ name }) => name)).size).toBe(models.length)
    }
  })

  it('leaves out models that make no text: a model of the gateway of another kind', async () => {
    const { apiKey } = await platform.space()
    const gateway = (await platform.call('GET', '/llm/v1/models', { token: apiKey })).body.data as {
      id: string
      kind: string
    }[]
    const listed = (
      (await platform.call('GET', '/agents/v1/models', { token: apiKey })).body as ModelItem[]
    ).map(({ name }) => name)
    for (const { id, kind } of gateway) {
      expect(listed.includes(id), `${id} (${kind})`).toBe(kind === 'chat' || kind === 'responses')
    }
  })

  it('has models of a model server that are in no catalogue, also those that come later', async () => {
    const models = ['llama-4']
    await using server = await startFakeOpenAi({ models })
    await using local = await startTestPlatform({
      env: { OPENAI_BASE_URL: server.url, ATRIUM_SANDBOX: 'off' },
    })
    const { spaceId, apiKey } = await local.space()
    const create = (model: string) =>
      local.call('POST', `/agents/v1/spaces/${spaceId}/agent?model=${model}`, {
        token: apiKey,
        body: AGENT_INPUT,
      })
    const listed = async () =>
      ((await local.call('GET', '/agents/v1/models', { token: apiKey })).body as ModelItem[]).map(
        ({ name }) => name,
      )
    expect(await listed()).toContain('llama-4')
    models.push('llama-5')
    expect((await create('llama-5')).status).toBe(201)
    expect(await listed()).toContain('llama-5')
    expect((await create('llama-6')).status).toBe(400)
  })

  it('asks for a credential, in the service’s own error shape', async () => {
    const answer = await platform.call('GET', '/agents/v1/models')
    expect(answer.status).toBe(401)
    expect(answer.body).toEqual({ error: true, message: expect.any(String), code: 'UNAUTHORIZED' })
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  })
})

describe('what the kernel answers', () => {
  it.each([
    ['GET', '/agents/v1/nowhere', 404, 'ROUTE_NOT_FOUND'],
    ['POST', '/agents/v1/models', 405, 'METHOD_NOT_ALLOWED'],
    ['GET', '/agents/v1/%zz', 400, 'INVALID_PATH'],
    ['GET', `/agents/v1/spaces/${'x'.repeat(300)}/agent`, 414, 'INVALID_PATH'],
  ])('%s %s has the service’s error shape', async (method, path, status, code) => {
    const answer = await platform.call(method, path, { token: platform.superuser.token, unchecked: true })
    expect(answer.status).toBe(status)
    expect(answer.body).toEqual({ error: true, message: expect.any(String), code })
  })
})
