import { setTimeout as delay } from 'node:timers/promises'
import { createDatabase, createPool } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { recordUsage, type UsageCost } from '../src/domain/costs.ts'
import type { PortalTables } from '../src/queries/tables.ts'
import { type Cast, createCast, UNKNOWN_ID } from './cast.ts'

let platform: TestPlatform
let cast: Cast
let pool: ReturnType<typeof createPool>
beforeAll(async () => {
  platform = await startTestPlatform()
  cast = await createCast(platform)
  pool = createPool(platform.databaseUrl, {
    max: 10,
    applicationName: 'test',
    log: createLogger({ level: 'silent' }),
  })
})
afterAll(async () => {
  await pool.end()
  await platform.close()
})

const today = () => new Date().toISOString().slice(0, 10)
const use = (spaceId: string, keyId: string, cost: string, more: Partial<UsageCost> = {}) => {
  const row = { spaceId, keyId, keyName: 'k', day: today(), model: 'gpt-4o', currency: 'USD', cost }
  const counts = { requests: 1, promptTokens: 1, completionTokens: 1, cachedTokens: 0, estimatedRequests: 0 }
  return createDatabase<PortalTables>(pool)
    .transaction()
    .execute((trx) => recordUsage(trx, [{ ...row, ...counts, ...more }]))
}
const budgetOf = (spaceId: string) => `/portal/v1/spaces/${spaceId}/budget`
const set = (spaceId: string, body: unknown, headers: Record<string, string> = {}) =>
  platform.call('PUT', budgetOf(spaceId), { token: cast.tokens.superuser, body, headers })
const get = (spaceId: string, token = cast.tokens.superuser) =>
  platform.call('GET', budgetOf(spaceId), { token })
const chat = (token: string) =>
  platform.call('POST', '/llm/v1/chat/completions', {
    token,
    body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hi' }] },
  })

describe('a space’s budget', () => {
  test('is set by superusers and read by members, with the month’s spend', async () => {
    const { spaceId, apiKeyId, memberToken } = await platform.space()
    const before = await get(spaceId, memberToken)
    expect(before.headers.get('etag')).toBe('"0"')
    expect(before.body).toEqual({
      spaceId,
      month: today().slice(0, 7),
      currency: 'USD',
      monthlyBudget: null,
      spend: 0,
      remaining: null,
      apiKeys: [],
    })
    expect((await set(spaceId, { monthlyBudget: 12.5 })).body).toMatchObject({
      monthlyBudget: 12.5,
      remaining: 12.5,
    })
    await use(spaceId, apiKeyId, '0.000001')
    await use(spaceId, apiKeyId, '2.4')
    await use(spaceId, apiKeyId, '9', { day: '2020-01-01' })
    await use(spaceId, apiKeyId, '7', { currency: 'EUR' })
    const after = await get(spaceId, memberToken)
    expect(after.body).toMatchObject({ monthlyBudget: 12.5, spend: 2.400001, remaining: 10.099999 })
    expect(after.body.apiKeys).toEqual([
      { apiKeyId, name: expect.any(String), monthlyBudget: null, spend: 2.400001 },
    ])
    expect((await set(spaceId, { monthlyBudget: 1 })).body).toMatchObject({ remaining: 0 })
    expect((await set(spaceId, { monthlyBudget: null })).body).toMatchObject({ remaining: null })
  })

  test('If-Match, from the budget that was never set on', async () => {
    const { spaceId } = await platform.space()
    const ifMatch = (tag: string) => ({ 'if-match': tag })
    expect((await set(spaceId, { monthlyBudget: 1 }, ifMatch('"1"'))).status).toBe(412)
    const first = await set(spaceId, { monthlyBudget: 1 }, ifMatch('"0"'))
    expect([first.status, first.headers.get('etag')]).toEqual([200, '"1"'])
    expect((await set(spaceId, { monthlyBudget: 2 }, ifMatch('"0"'))).status).toBe(412)
    const racing = [3, 4, 5].map((monthlyBudget) => set(spaceId, { monthlyBudget }, ifMatch('"1"')))
    expect((await Promise.all(racing)).map(({ status }) => status).sort()).toEqual([200, 412, 412])
  })

  test.each([
    {},
    { monthlyBudget: -1 },
    { monthlyBudget: '5' },
    { monthlyBudget: 1e9 },
    { monthlyBudget: 0.0000001 },
  ])('refuses %j', async (body) => {
    const answer = await set(cast.home.spaceId, body)
    expect(answer.status).toBe(400)
    expect(answer.body.error.message).toContain('body.monthlyBudget')
  })

  test('404 for an unknown space', async () => {
    expect((await set(UNKNOWN_ID, { monthlyBudget: 1 })).status).toBe(404)
    expect((await get(UNKNOWN_ID)).status).toBe(404)
    expect((await get(cast.home.spaceId, cast.tokens.stranger)).status).toBe(403)
  })

  test('used up, it stops every key of the space within a second, before the call', async () => {
    const { spaceId, apiKey, apiKeyId } = await platform.space()
    await set(spaceId, { monthlyBudget: 5 })
    expect((await chat(apiKey)).status).toBe(200)
    await use(spaceId, apiKeyId, '5')
    await delay(900)
    const refused = await chat(apiKey)
    expect(refused.status).toBe(429)
    expect(refused.body.error).toEqual({
      message: expect.stringContaining('monthly budget of this space'),
      type: 'insufficient_quota',
      param: null,
      code: 'insufficient_quota',
    })
    expect(refused.headers.get('x-should-retry')).toBe('false')
    expect((await platform.call('GET', '/llm/v1/models', { token: apiKey })).status).toBe(200)
    await set(spaceId, { monthlyBudget: 50 })
    await expect.poll(async () => (await chat(apiKey)).status, { timeout: 10_000 }).toBe(200)
  })

  test('of zero allows nothing; none allows everything', async () => {
    const { spaceId, apiKey } = await platform.space()
    await set(spaceId, { monthlyBudget: 0 })
    await expect.poll(async () => (await chat(apiKey)).status, { timeout: 10_000 }).toBe(429)
    await set(spaceId, { monthlyBudget: null })
    await expect.poll(async () => (await chat(apiKey)).status, { timeout: 10_000 }).toBe(200)
  })
})

describe('a key’s own limits', () => {
  const patch = (spaceId: string, keyId: string, body: unknown) =>
    platform.call('PATCH', `/portal/v1/spaces/${spaceId}/apikeys/${keyId}`, {
      token: cast.tokens.superuser,
      body,
    })

  test('its budget stops it alone, and what it spends counts for the space', async () => {
    const { spaceId, apiKey, apiKeyId } = await platform.space()
    const other = await platform.call('POST', `/portal/v1/spaces/${spaceId}/apikeys`, {
      token: cast.tokens.superuser,
      body: { name: 'other' },
    })
    await patch(spaceId, apiKeyId, { monthlyBudget: 1 })
    await use(spaceId, apiKeyId, '1.5')
    await delay(900)
    const refused = await chat(apiKey)
    expect(refused.status).toBe(429)
    expect(refused.body.error.message).toContain('monthly budget of this API key')
    expect((await chat(other.body.apiKeyValue)).status).toBe(200)
    const { body } = await get(spaceId)
    expect(body.spend).toBeGreaterThanOrEqual(1.5)
    expect(body.apiKeys[0]).toMatchObject({ apiKeyId, monthlyBudget: 1, spend: 1.5 })
  })

  test('its rate replaces the gateway’s, though that has none', async () => {
    const { spaceId, apiKey, apiKeyId } = await platform.space()
    expect((await patch(spaceId, apiKeyId, { requestsPerMinute: 3 })).body.requestsPerMinute).toBe(3)
    const answers = []
    for (let n = 0; n < 5; n++) answers.push(await chat(apiKey))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 429, 429])
    expect(answers[0]?.headers.get('ratelimit-limit')).toBe('3')
    expect(answers[4]?.body.error.code).toBe('rate_limit_exceeded')
    for (const path of ['/llm/v1/models', '/llm/v1/models/gpt-4o']) {
      expect((await platform.call('GET', path, { token: apiKey })).status).toBe(429)
    }
    await patch(spaceId, apiKeyId, { requestsPerMinute: null })
    await expect.poll(async () => (await chat(apiKey)).status, { timeout: 10_000 }).toBe(200)
    expect((await chat(apiKey)).headers.get('ratelimit-limit')).toBeNull()
  })
})

test('the monthly totals equal the entries, whoever writes at once', async () => {
  const spaces = await Promise.all([platform.space(), platform.space()])
  await Promise.all(
    Array.from({ length: 60 }, (_, n) => {
      const { spaceId, apiKeyId } = spaces[n % 2] ?? cast.home
      return use(spaceId, apiKeyId, '0.1', { day: n % 3 === 0 ? '2026-02-28' : '2026-03-01' })
    }),
  )
  const { rows } = await pool.query(
    `SELECT e.amount = k.amount AND k.amount = s.amount AS equal FROM (
        SELECT space_id, date_trunc('month', day)::date AS month, key_id, currency, sum(amount) AS amount
          FROM portal.cost_entries WHERE key_id IS NOT NULL GROUP BY 1, 2, 3, 4) e
      LEFT JOIN portal.key_monthly_spend k USING (space_id, month, key_id, currency)
      LEFT JOIN portal.space_monthly_spend s USING (space_id, month, currency)
     WHERE space_id = ANY($1)`,
    [spaces.map(({ spaceId }) => spaceId)],
  )
  expect(rows).toHaveLength(4)
  expect(rows.every((row) => row.equal === true)).toBe(true)
})
