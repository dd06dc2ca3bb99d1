import { setTimeout as delay } from 'node:timers/promises'
import { startTestPlatform } from '@atrium/testing'
import { describe, expect, test } from 'vitest'
import { hello, startWithFake } from './platform.ts'

type Gateway = Awaited<ReturnType<typeof startWithFake>>

/** What one call of the fake costs: 20 tokens read at 2.50 a million, 10 written at 10. */
const ONE_CALL = 0.00015
const CALLS = 17

/** Budgets have six decimals: the one for 17 calls is 0.00255. */
const BUDGET = 0.00255

async function setBudget({ platform, space }: Gateway, whose: 'key' | 'space', monthlyBudget: number | null) {
  const path = `/portal/v1/spaces/${space.spaceId}`
  const answer = await platform.call(
    whose === 'space' ? 'PUT' : 'PATCH',
    whose === 'space' ? `${path}/budget` : `${path}/apikeys/${space.apiKeyId}`,
    { token: platform.superuser.token, body: { monthlyBudget } },
  )
  expect(answer.status).toBe(200)
  // Keys that are known are looked up again within a second.
  await delay(1000)
}

const code = (answer: { body: { error?: { code: string } } }): string | undefined => answer.body.error?.code

/** Calls again and again, as clients do that are told to, until the budget is said to be used up. @returns calls served */
async function spendAll(chat: () => ReturnType<Gateway['chat']>): Promise<number> {
  for (let served = 0; ; ) {
    const answer = await chat()
    if (answer.status === 200) served += 1
    else if (code(answer) === 'insufficient_quota') return served
    else {
      expect([answer.status, code(answer)]).toEqual([429, 'budget_reserved'])
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(answer.headers.get('x-should-retry')).toBeNull()
      await delay(50 + Math.random() * 100)
    }
  }
}

describe.each(['key', 'space'] as const)('a budget of a %s', (whose) => {
  test.each([
    ['whose most is small', { max_completion_tokens: 20 }],
    ['whose most is more than the budget', {}],
  ])(
    'is held by 32 callers at once through two platforms on one database, with calls %s',
    { timeout: 60_000 },
    async (_name, limit) => {
      await using one = await startWithFake({ fake: { models: false, behaviour: { delayMs: 20 } } })
      await using two = await startTestPlatform({
        env: {
          DATABASE_URL: one.platform.databaseUrl,
          OPENAI_BASE_URL: one.fake.url,
          OPENAI_API_KEY: 'sk-any',
        },
      })
      const through = (platform: { call: Gateway['platform']['call'] }) => () =>
        platform.call('POST', '/llm/v1/chat/completions', {
          token: one.space.apiKey,
          body: { ...hello, ...limit },
        })
      await setBudget(one, whose, BUDGET)
      const callers = Array.from({ length: 32 }, (_, i) =>
        spendAll(through(i % 2 === 0 ? one.platform : two)),
      )
      const served = (await Promise.all(callers)).reduce((sum, calls) => sum + calls, 0)
      const [usage] = await one.usage(served)
      expect(usage?.requests).toBe(served)
      expect(served).toBeGreaterThanOrEqual(CALLS)
      // One call a platform may exceed it.
      expect(served).toBeLessThanOrEqual(CALLS + 2)
      expect(Number(usage?.amount)).toBeCloseTo(served * ONE_CALL, 10)
    },
  )
})

test('what a call did not use, or a failed one reserved, is free again', async () => {
  await using gateway = await startWithFake()
  await setBudget(gateway, 'key', 1)
  // Each may cost 0.2, most of the budget together.
  const big = { ...hello, max_completion_tokens: 16_000 }
  gateway.fake.next(...Array.from({ length: 10 }, () => ({ status: 500 })))
  for (let i = 0; i < 10; i++) expect((await gateway.chat(big)).status).toBe(500)
  for (let i = 0; i < 20; i++) expect((await gateway.chat(big)).status).toBe(200)
  const stream = await gateway.raw(JSON.stringify({ ...big, stream: true }))
  expect(await stream.text()).toContain('[DONE]')
  expect((await gateway.chat(big)).status).toBe(200)
})

test('calls under way hold what they may cost; leases are given back', async () => {
  await using gateway = await startWithFake()
  await setBudget(gateway, 'key', 0.25)
  const big = { ...hello, max_completion_tokens: 16_000 }
  const release = Promise.withResolvers<void>()
  gateway.fake.next({ held: release.promise })
  const first = await gateway.raw(JSON.stringify({ ...big, stream: true }))
  expect(first.status).toBe(200)
  expect(code(await gateway.chat(big))).toBe('budget_reserved')
  expect((await gateway.chat({ ...hello, max_completion_tokens: 10 })).status).toBe(200)
  release.resolve()
  await first.text()
  await expect.poll(async () => (await gateway.chat(big)).status, { timeout: 10_000 }).toBe(200)
  const leases = async () =>
    (await gateway.platform.pool.query('SELECT count(*)::int AS n FROM portal.budget_leases')).rows[0].n
  await expect.poll(leases, { timeout: 15_000 }).toBe(0)
})

test('taken away, a budget holds nobody up', async () => {
  await using gateway = await startWithFake()
  await setBudget(gateway, 'key', 0.000001)
  expect((await gateway.chat(hello)).status).toBe(200)
  await expect
    .poll(async () => code(await gateway.chat(hello)), { timeout: 10_000 })
    .toBe('insufficient_quota')
  await setBudget(gateway, 'key', null)
  expect((await gateway.chat(hello)).status).toBe(200)
})
