import { setTimeout as delay } from 'node:timers/promises'
import { createDatabase, createPool, type DatabasePool, type Kysely, sql } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import { type OwnPostgres, startOwnPostgres } from '@atrium/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'

const log = createLogger({ level: 'silent' })
const UNAVAILABLE = { status: 503, code: 'unavailable' }
let postgres: OwnPostgres
let pool: DatabasePool

beforeAll(async () => {
  postgres = await startOwnPostgres()
})
afterAll(() => postgres.close())
beforeEach(() => {
  pool = createPool(postgres.url, { max: 4, applicationName: 'test', log })
})
afterEach(async () => {
  await postgres.thaw()
  postgres.proxy.release()
  await pool.end()
})

const untilBack = async (): Promise<void> => {
  await expect.poll(() => pool.query('SELECT 1').catch(() => undefined), { timeout: 8000 }).toBeDefined()
}

/** How long something takes to fail, in milliseconds, and that it says why. */
async function failsIn(what: () => Promise<unknown>): Promise<number> {
  const begun = performance.now()
  await expect(what()).rejects.toMatchObject(UNAVAILABLE)
  return performance.now() - begun
}

test.each(['freeze', 'hold'] as const)(
  'what is under way when PostgreSQL hangs fails within 5 s: %s',
  async (how) => {
    const db: Kysely<unknown> = createDatabase(pool)
    await sql`CREATE TABLE IF NOT EXISTS notes (n int)`.execute(db)
    await sql`TRUNCATE notes`.execute(db)
    const transaction = (): Promise<unknown> =>
      db.transaction().execute(async (trx) => {
        await sql`INSERT INTO notes VALUES (1)`.execute(trx)
        if (how === 'freeze') await postgres.freeze()
        else postgres.proxy.hold()
        await sql`INSERT INTO notes VALUES (2)`.execute(trx)
      })
    const waiting = Array.from({ length: 10 }, async () => {
      await delay(200)
      return failsIn(() => pool.query('SELECT 1'))
    })
    const times = await Promise.all([failsIn(transaction), ...waiting])
    expect(Math.max(...times)).toBeLessThan(5000)
    expect(pool.outage.isAway).toBe(true)
    const all = await Promise.all(Array.from({ length: 100 }, () => failsIn(() => pool.query('SELECT 1'))))
    expect(Math.max(...all)).toBeLessThan(500)
    await postgres.thaw()
    postgres.proxy.release()
    await untilBack()
    expect((await pool.query('SELECT n FROM notes')).rows).toEqual([])
  },
)

test('connections that fall silent while others work are given up, in whatever direction', async () => {
  const busy = await Promise.all([pool.connect(), pool.connect()])
  postgres.proxy.holdOpen()
  const asked = busy.map((client) => failsIn(() => client.query('SELECT 1')))
  await pool.query('SELECT 1')
  expect(pool.outage.isAway).toBe(false)
  expect(Math.max(...(await Promise.all(asked)))).toBeLessThan(5000)
  for (const client of busy) client.release()
  expect(pool.outage.isAway).toBe(false)
  await pool.query('SELECT 1')
})

test('a statement that takes long is not cut off', async () => {
  const both = [pool.query('SELECT pg_sleep(6)'), pool.query('SELECT pg_sleep(6)')]
  expect((await Promise.all(both)).map(({ rowCount }) => rowCount)).toEqual([1, 1])
})

test('connections that are reset are not used again, and one that breaks is no outage', async () => {
  await pool.query('SELECT 1')
  const slow = failsIn(() => pool.query('SELECT pg_sleep(5)'))
  await delay(100)
  postgres.proxy.resetOpen()
  await slow
  await pool.query('SELECT 1')
  postgres.proxy.reset()
  await failsIn(() => pool.query('SELECT 1'))
  await expect.poll(() => pool.outage.isAway).toBe(true)
  postgres.proxy.release()
  await untilBack()
})

test('a server that was stopped is found again after its restart', async () => {
  await pool.query('SELECT 1')
  await postgres.stop()
  await failsIn(() => pool.query('SELECT 1'))
  await expect.poll(() => pool.outage.isAway).toBe(true)
  await postgres.start()
  await untilBack()
})

test('too many connections are an outage for those who need one, and for nobody else', async () => {
  const others = createPool(postgres.directUrl(), { max: 250, applicationName: 'greedy', log })
  await pool.query('SELECT 1')
  const held = await Promise.allSettled(Array.from({ length: 250 }, () => others.connect()))
  const refused = held.find(({ status }) => status === 'rejected')
  expect(refused).toMatchObject({ reason: UNAVAILABLE })
  await pool.query('SELECT 1')
  expect(pool.outage.isAway).toBe(false)
  for (const one of held) if (one.status === 'fulfilled') one.value.release()
  await others.end()
})
