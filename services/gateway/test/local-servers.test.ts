import { parseEnv } from '@atrium/kernel/config'
import { freePort, startFakeOpenAi, startTestPlatform } from '@atrium/testing'
import { expect, test } from 'vitest'
import { createLocalSearch } from '../src/adapters/openai/index.ts'
import { describeBackends, gatewayEnv } from '../src/index.ts'
import { hello, startWithFake } from './platform.ts'

test('servers of this machine are found, but never the platform itself', async () => {
  await using one = await startFakeOpenAi({ models: ['llama-4'] })
  await using other = await startFakeOpenAi({ models: ['qwen-4'] })
  await using listless = await startFakeOpenAi({ models: false })
  const [a, b, c] = [one, other, listless].map(({ url }) => Number(new URL(url).port)) as [
    number,
    number,
    number,
  ]
  const silent = await freePort()
  const found = await createLocalSearch([silent, a, c, b], b)()
  expect(found.map(({ name, models }) => [name, models.map(({ id }) => id)])).toEqual([
    [`local-${a}`, ['llama-4']],
  ])
  expect(other.requests).toEqual([])
})

test('a server that starts after the platform is served without a restart, and none is no error', async () => {
  const port = await freePort()
  await using platform = await startTestPlatform({
    env: {
      ATRIUM_PROBE_LOCAL_MODELS: 'true',
      ATRIUM_LOCAL_MODEL_PORTS: String(port),
      ATRIUM_SANDBOX: 'auto',
    },
  })
  const { apiKey } = await platform.space()
  const chat = (model: string) =>
    platform.call('POST', '/llm/v1/chat/completions', { token: apiKey, body: { ...hello, model } })
  expect((await chat('gpt-4o')).headers.get('x-atrium-backend')).toBe('sandbox')
  await using _late = await startFakeOpenAi({ port, models: ['llama-4'] })
  const answer = await chat('llama-4')
  expect(answer.status).toBe(200)
  expect(answer.headers.get('x-atrium-backend')).toBe(`local-${port}`)
  // As after a restart: where there is a real server, nothing is made up.
  expect((await chat('gpt-4o')).body.error.code).toBe('backend_not_configured')
  const listed = await platform.call('GET', '/llm/v1/models/llama-4', { token: apiKey })
  expect(listed.body.available).toBe(true)
})

test('a model that a named server gets later is served, and listed', async () => {
  const models = ['gpt-4o']
  await using gateway = await startWithFake({ fake: { models } })
  const get = (path: string) => gateway.platform.call('GET', path, { token: gateway.space.apiKey })
  models.push('gpt-4.1')
  expect((await get('/llm/v1/models/gpt-41')).body.available).toBe(true)
  expect((await gateway.chat({ ...hello, model: 'gpt-41' })).status).toBe(200)
  models.push('llama-6')
  expect((await gateway.chat({ ...hello, model: 'llama-6' })).status).toBe(400)
  expect(gateway.fake.requests.filter(({ path }) => path === '/v1/models').length).toBe(1)
})

test('a port that is none stops the start', async () => {
  const env = { ATRIUM_PROBE_LOCAL_MODELS: 'true', ATRIUM_SANDBOX: 'auto' }
  const start = startTestPlatform({ env: { ...env, ATRIUM_LOCAL_MODEL_PORTS: '80,ollama' } })
  await expect(start).rejects.toThrow(/ATRIUM_LOCAL_MODEL_PORTS.*'ollama'/)
})

test('a named server that nobody listens for is told so, until somebody does', async () => {
  const port = await freePort()
  const where = { nodeEnv: 'test', ownPort: 1 }
  const env = parseEnv(gatewayEnv, { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` })
  expect(await describeBackends(env, where)).toEqual([
    `openai: 127.0.0.1:${port} (without a key): nobody listens at OPENAI_BASE_URL`,
  ])
  await using _late = await startFakeOpenAi({ port })
  expect(await describeBackends(env, where)).toEqual([`openai: 127.0.0.1:${port} (without a key)`])
})
