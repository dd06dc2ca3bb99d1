import { startFakeOpenAi, startTestPlatform } from '@atrium/testing'
import { describe, expect, test } from 'vitest'
import { ask, embed, MODEL } from './embed.ts'
import { hello, startWithFake, waitForUsage } from './platform.ts'

describe('several servers', () => {
  async function startWithTwo() {
    const one = await startFakeOpenAi({ models: [MODEL, 'gpt-4o'] })
    const two = await startFakeOpenAi({ models: [MODEL, 'gpt-4o'] })
    const ports = [one, two].map(({ url }) => new URL(url).port)
    const platform = await startTestPlatform({
      env: {
        ATRIUM_PROBE_LOCAL_MODELS: 'true',
        ATRIUM_LOCAL_MODEL_PORTS: ports.join(','),
        ATRIUM_SANDBOX: 'auto',
      },
    })
    const space = await platform.space()
    for (const { requests } of [one, two]) requests.length = 0
    const names = ports.map((port) => `local-${port}`)
    return {
      one,
      two,
      platform,
      space,
      names,
      async [Symbol.asyncDispose]() {
        await platform.close()
        await Promise.all([one.close(), two.close()])
      },
    }
  }

  test.each([
    ['429', { status: 429 }],
    ['408', { status: 408 }],
    ['500', { status: 500 }],
    ['a broken connection', { reset: true }],
    ['nonsense', { body: 'sorry' }],
  ])('the next one serves after %s, and is charged once', async (_name, fault) => {
    await using pair = await startWithTwo()
    pair.one.next(fault)
    const answer = await embed(pair, ask)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('x-atrium-backend')).toBe(pair.names[1])
    expect([pair.one.requests.length, pair.two.requests.length]).toEqual([1, 1])
    expect((await waitForUsage(pair.platform.pool, pair.space.spaceId, 1))[0]?.requests).toBe(1)
  })

  test('the caller’s own mistake is not tried elsewhere, and chats fail over too', async () => {
    await using pair = await startWithTwo()
    pair.one.next({ status: 400 })
    expect((await embed(pair, ask)).status).toBe(400)
    expect(pair.two.requests.length).toBe(0)
    pair.one.next({ status: 503 })
    const chat = await pair.platform.call('POST', '/llm/v1/chat/completions', {
      token: pair.space.apiKey,
      body: hello,
    })
    expect([chat.status, chat.headers.get('x-atrium-backend')]).toEqual([200, pair.names[1]])
  })

  test('one that keeps failing is left alone, and where all fail the last says why', async () => {
    await using pair = await startWithTwo()
    pair.one.behave({ status: 500 })
    for (let i = 0; i < 6; i++) expect((await embed(pair, ask)).status).toBe(200)
    expect(pair.one.requests.length).toBe(3)
    pair.two.behave({ status: 503 })
    const answer = await embed(pair, ask)
    expect(answer.status).toBe(500)
    expect(pair.one.requests.length).toBe(4)
  })

  test('one that asks for time gets it', async () => {
    await using pair = await startWithTwo()
    pair.one.next({ status: 429, retryAfter: 20 })
    for (let i = 0; i < 3; i++) expect((await embed(pair, ask)).status).toBe(200)
    expect(pair.one.requests.length).toBe(1)
  })

  test('the sandbox never stands in for a real server', async () => {
    await using both = await startWithFake({ env: { ATRIUM_SANDBOX: 'on' } })
    both.fake.behave({ status: 500 })
    const answer = await embed(both, ask)
    expect([answer.status, answer.headers.get('x-atrium-backend')]).toEqual([500, 'openai'])
  })
})
