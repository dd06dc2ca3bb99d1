import { createDatabase, createPool } from '@atrium/kernel/db'
import { newId } from '@atrium/kernel/ids'
import { createLogger } from '@atrium/kernel/log'
import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordUsage, type UsageCost } from '../src/domain/costs.ts'
import type { PortalTables } from '../src/queries/tables.ts'

let platform: TestPlatform
let pool: ReturnType<typeof createPool>
beforeAll(async () => {
  platform = await startTestPlatform()
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

const write = (rows: readonly UsageCost[]) =>
  createDatabase<PortalTables>(pool)
    .transaction()
    .execute((trx) => recordUsage(trx, rows))

const usage = (spaceId: string, keyId: string, more: Partial<UsageCost> = {}): UsageCost => ({
  spaceId,
  keyId,
  keyName: 'ci',
  day: '2026-01-15',
  model: 'gpt-4o-mini',
  requests: 1,
  promptTokens: 100,
  completionTokens: 20,
  cachedTokens: 5,
  estimatedRequests: 1,
  cost: '0.000033',
  currency: 'USD',
  ...more,
})

const entriesOf = async (spaceId: string) =>
  (
    await pool.query('SELECT * FROM portal.cost_entries WHERE space_id = $1 ORDER BY service, model', [
      spaceId,
    ])
  ).rows
const overall = async (spaceId: string, month = '2026-01') => {
  const path = `/portal/v1/spaces/${spaceId}/costs/report?month=${month}&includeDetails=true`
  return (await platform.call('GET', path, { token: platform.superuser.token })).body
}

test('use grows one entry per space, day, key, model and currency, and shows in the report', async () => {
  const { spaceId, apiKeyId } = await platform.space()
  await write([
    usage(spaceId, apiKeyId),
    usage(spaceId, apiKeyId),
    usage(spaceId, apiKeyId, { model: 'other' }),
  ])
  await write([usage(spaceId, apiKeyId, { requests: 3, cost: '0.5', keyName: 'renamed' })])
  const [mini, other] = await entriesOf(spaceId)
  expect(mini).toMatchObject({
    amount: '0.500066',
    service: 'llm-gateway',
    description: 'gpt-4o-mini by key renamed',
  })
  expect(JSON.parse(mini.usage_details)).toEqual({
    model: 'gpt-4o-mini',
    apiKeyId,
    requests: 5,
    promptTokens: 300,
    completionTokens: 60,
    cachedTokens: 15,
    estimatedRequests: 3,
  })
  expect(other).toMatchObject({ amount: '0.000033', model: 'other' })
  const report = await overall(spaceId)
  expect(report.services).toEqual([
    {
      service: 'llm-gateway',
      totalCost: 0.500099,
      billingPositions: [{ day: '2026-01-15', calculatedCost: 0.500099 }],
    },
  ])
  const totals = await pool.query('SELECT entries FROM portal.cost_daily_totals WHERE space_id = $1', [
    spaceId,
  ])
  expect(totals.rows).toEqual([{ entries: 2 }])
})

test('use of a space that is gone is left out, and the rest of the batch is kept', async () => {
  const { spaceId, apiKeyId } = await platform.space()
  const gone = await platform.space()
  await pool.query('DELETE FROM portal.spaces WHERE space_id = $1', [gone.spaceId])
  await write([usage(newId(), newId()), usage(gone.spaceId, gone.apiKeyId), usage(spaceId, apiKeyId)])
  expect(await entriesOf(spaceId)).toHaveLength(1)
  expect(await entriesOf(gone.spaceId)).toEqual([])
})

test('a space deleted while a batch is written does not break it', async () => {
  for (let round = 0; round < 10; round++) {
    const [kept, doomed] = [await platform.space(), await platform.space()]
    await Promise.all([
      write([usage(doomed.spaceId, doomed.apiKeyId), usage(kept.spaceId, kept.apiKeyId)]),
      pool.query('DELETE FROM portal.spaces WHERE space_id = $1', [doomed.spaceId]),
    ])
    expect(await entriesOf(kept.spaceId)).toHaveLength(1)
  }
})

test('an empty batch, and one rolled back with its transaction', async () => {
  const { spaceId, apiKeyId } = await platform.space()
  await write([])
  const broken = createDatabase<PortalTables>(pool)
    .transaction()
    .execute(async (trx) => {
      await recordUsage(trx, [usage(spaceId, apiKeyId)])
      throw new Error('the caller’s own failure')
    })
  await expect(broken).rejects.toThrow('own failure')
  expect(await entriesOf(spaceId)).toEqual([])
})

test('50 batches and 50 entries at once sum exactly, without a deadlock', async () => {
  const spaces = await Promise.all(Array.from({ length: 4 }, () => platform.space()))
  const days = ['2026-01-01', '2026-01-02', '2026-01-03']
  const rows = spaces.flatMap(({ spaceId, apiKeyId }) =>
    days.flatMap((day) => ['a', 'b'].map((model) => usage(spaceId, apiKeyId, { day, model, cost: '0.1' }))),
  )
  const shuffled = (): UsageCost[] => rows.toSorted(() => Math.random() - 0.5)
  const entry = (spaceId: string) =>
    platform.call('POST', `/portal/v1/spaces/${spaceId}/costs`, {
      token: platform.superuserClient.token,
      body: { day: '2026-01-02', service: 'llm-gateway', calculatedCost: 0.2, currency: 'USD' },
    })
  const answers = await Promise.all([
    ...Array.from({ length: 50 }, () => write(shuffled())),
    ...Array.from({ length: 50 }, (_, n) => entry(spaces[n % 4]?.spaceId ?? '')),
  ])
  expect(answers.filter((answer) => answer !== undefined).map((answer) => answer.status)).toEqual(
    Array(50).fill(201),
  )
  for (const [n, { spaceId }] of spaces.entries()) {
    // 50 batches × 3 days × 2 models × 0.1, and this space's share of 50 entries × 0.2.
    const entries = n < 2 ? 13 : 12
    expect((await overall(spaceId)).totals.overallCost).toBe((300 + 2 * entries) / 10)
    const sums = await pool.query(
      'SELECT sum(amount) AS sum, count(*) AS count FROM portal.cost_entries WHERE space_id = $1',
      [spaceId],
    )
    expect(Number(sums.rows[0].sum)).toBe((300 + 2 * entries) / 10)
    const totals = await pool.query(
      'SELECT sum(entries)::int AS entries FROM portal.cost_daily_totals WHERE space_id = $1',
      [spaceId],
    )
    expect(totals.rows[0].entries).toBe(6 + entries)
  }
})
