import { startTestPlatform } from '@atrium/testing'
import { expect, test } from 'vitest'
import { hello, startWithFake } from './platform.ts'

test('a limit is exact, says so in headers, and refills', async () => {
  await using gateway = await startWithFake({
    env: { ATRIUM_GATEWAY_RATE_LIMIT: '60', ATRIUM_GATEWAY_RATE_LIMIT_BURST: '20' },
  })
  const started = Date.now()
  const statuses: number[] = []
  for (let i = 0; i < 40; i++) statuses.push((await gateway.chat(hello)).status)
  const admitted = statuses.filter((status) => status === 200).length
  expect(admitted).toBeGreaterThanOrEqual(20)
  expect(admitted).toBeLessThanOrEqual(20 + Math.ceil((Date.now() - started) / 1000))
  const refused = await gateway.chat(hello)
  expect(refused.status).toBe(429)
  expect(refused.body.error).toMatchObject({ type: 'rate_limit_error', code: 'rate_limit_exceeded' })
  expect(refused.headers.get('retry-after')).toBe('1')
  expect(refused.headers.get('ratelimit-limit')).toBe('60')
  expect(refused.headers.get('ratelimit-remaining')).toBe('0')
  const other = await gateway.platform.space()
  expect((await gateway.platform.call('GET', '/llm/v1/models', { token: other.apiKey })).status).toBe(200)
  await expect.poll(async () => (await gateway.chat(hello)).status, { timeout: 10_000 }).toBe(200)
})

test('two processes share one limit', async () => {
  const env = { ATRIUM_GATEWAY_RATE_LIMIT: '60', ATRIUM_GATEWAY_RATE_LIMIT_BURST: '100' }
  await using one = await startWithFake({ env })
  await using two = await startTestPlatform({ env: { ...env, DATABASE_URL: one.platform.databaseUrl } })
  const started = Date.now()
  const ask = async (url: string): Promise<number> => {
    const answer = await fetch(`${url}/llm/v1/models`, {
      headers: { authorization: `Bearer ${one.space.apiKey}` },
    })
    await answer.arrayBuffer()
    return answer.status
  }
  const burst = Array.from({ length: 300 }, (_, i) => ask(i % 2 === 0 ? one.platform.url : two.url))
  const statuses = await Promise.all(burst)
  // Tokens that one process leased and did not need come back when it asks again.
  for (let i = 0; i < 60; i++) statuses.push(await ask(i % 2 === 0 ? one.platform.url : two.url))
  const admitted = statuses.filter((status) => status === 200).length
  const refilled = Math.ceil((Date.now() - started) / 1000)
  expect(admitted).toBeLessThanOrEqual(100 + refilled)
  expect(admitted).toBeGreaterThanOrEqual(90)
})
