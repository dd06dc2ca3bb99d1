import { setTimeout as delay } from 'node:timers/promises'
import { createDatabase, createPool, type Kysely, sql } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import { freePort, startTestPlatform } from '@atrium/testing'
import { expect, test } from 'vitest'
import { hello, startWithFake } from './platform.ts'

type Gateway = Awaited<ReturnType<typeof startWithFake>>

/** What one call of the fake's usual answer costs: 20 × $2.50/M + 10 × $10/M. */
const COST = 0.00015

async function metricsOf(port: number): Promise<(name: string) => number | undefined> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return (name) => {
    const line = text.split('\n').find((one) => one.startsWith(`${name} `) || one.startsWith(`${name}{`))
    return line === undefined ? undefined : Number(line.split(' ').at(-1))
  }
}

async function callsOf(gateway: Gateway, apiKey: string, calls: number): Promise<void> {
  for (let i = 0; i < calls; i++) {
    const answer = await gateway.platform.call('POST', '/llm/v1/chat/completions', {
      token: apiKey,
      body: hello,
    })
    expect(answer.status).toBe(200)
  }
}

const renameSchema = (gateway: Gateway, from: string, to: string) =>
  gateway.platform.pool.query(`ALTER SCHEMA ${from} RENAME TO ${to}`)

test('connections that break in the middle of everything lose and double nothing', async () => {
  await using gateway = await startWithFake()
  await callsOf(gateway, gateway.space.apiKey, 1)
  let isOver = false
  const breaker = (async () => {
    while (!isOver) {
      await delay(60)
      await gateway.platform.pool.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      )
    }
  })()
  let served = 1
  const caller = async (): Promise<void> => {
    for (let i = 0; i < 60; i++) {
      const answer = await gateway.chat(hello)
      // A key that must be looked up just now cannot be: such a call is refused and not charged.
      if (answer.status === 200) served += 1
      else expect(answer.status).toBeGreaterThanOrEqual(500)
      await delay(10)
    }
  }
  // The breaker ends first also when a call fails: nothing could be closed beside it, which would hide the failure.
  await Promise.all(Array.from({ length: 4 }, caller)).finally(() => {
    isOver = true
    return breaker
  })
  const [usage] = await gateway.usage(served)
  expect(served).toBeGreaterThan(100)
  expect(usage).toMatchObject({ requests: served, promptTokens: served * 20, completionTokens: served * 10 })
  expect(Number(usage?.amount)).toBeCloseTo(served * COST, 12)
})

test('a connection that breaks between two statements of a transaction does not end the process', async () => {
  await using platform = await startTestPlatform()
  const log = createLogger({ level: 'silent' })
  const pool = createPool(platform.databaseUrl, { max: 1, applicationName: 'breaks', log })
  const db: Kysely<unknown> = createDatabase(pool)
  const transaction = db.transaction().execute(async (trx) => {
    const { rows } = await sql<{ pid: number }>`SELECT pg_backend_pid() AS pid`.execute(trx)
    await platform.pool.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid])
    await delay(100)
    await sql`SELECT 1`.execute(trx)
  })
  await expect(transaction).rejects.toThrow()
  await sql`SELECT 1`.execute(db)
  await pool.end()
})

test('a space that is deleted before its calls are charged does not hold up the others', async () => {
  await using gateway = await startWithFake()
  const gone = await gateway.platform.space()
  await renameSchema(gateway, 'gateway', 'away')
  await callsOf(gateway, gone.apiKey, 3)
  await callsOf(gateway, gateway.space.apiKey, 4)
  await gateway.platform.pool.query('DELETE FROM portal.spaces WHERE space_id = $1', [gone.spaceId])
  await renameSchema(gateway, 'away', 'gateway')
  expect((await gateway.usage(4))[0]).toMatchObject({ requests: 4, promptTokens: 80 })
  const { rows } = await gateway.platform.pool.query(
    'SELECT count(*)::int AS entries FROM portal.cost_entries WHERE space_id = $1',
    [gone.spaceId],
  )
  expect(rows[0].entries).toBe(0)
})

test('the metrics say what was called, and how long the first chunk took', async () => {
  const port = await freePort()
  await using gateway = await startWithFake({ env: { ATRIUM_METRICS_PORT: String(port) } })
  await callsOf(gateway, gateway.space.apiKey, 2)
  await (await gateway.raw(JSON.stringify({ ...hello, stream: true }))).text()
  gateway.fake.next({ status: 500 })
  await gateway.chat(hello)
  const value = await metricsOf(port)
  const of = '{model="gpt-4o",backend="openai"}'
  expect(value(`atrium_gateway_calls_total${of}`)).toBe(3)
  expect(value(`atrium_gateway_calls_estimated_total${of}`)).toBe(0)
  expect(value(`atrium_gateway_prompt_tokens_total${of}`)).toBeGreaterThan(40)
  expect(value(`atrium_gateway_completion_tokens_total${of}`)).toBe(30)
  expect(value(`atrium_gateway_cached_tokens_total${of}`)).toBe(0)
  expect(value(`atrium_gateway_cost_total${of}`)).toBeCloseTo(3 * COST, 12)
  expect(value('atrium_gateway_time_to_first_chunk_seconds_count{model="gpt-4o"}')).toBe(1)
  expect(value('atrium_gateway_time_to_first_chunk_seconds_bucket{le="60",model="gpt-4o"}')).toBe(1)
  expect(value('atrium_gateway_backend_errors_total{backend="openai",reason="status_500"}')).toBe(1)
  expect(value('atrium_gateway_journal_lag_bytes')).toBeGreaterThanOrEqual(0)
  expect(value('atrium_rate_limit_failures_total')).toBe(0)
})
