import {
  type Answer,
  type OwnPostgres,
  startOwnPostgres,
  startTestPlatform,
  type TestPlatform,
} from '@atrium/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** Longer than it takes to find out that PostgreSQL hangs, so that both can be seen. */
const STALE_SECONDS = 8

let postgres: OwnPostgres
let platform: TestPlatform
beforeAll(async () => {
  postgres = await startOwnPostgres()
  platform = await startTestPlatform({
    env: { DATABASE_URL: postgres.url, ATRIUM_STALE_SECONDS: String(STALE_SECONDS) },
  })
}, 120_000)
afterAll(async () => {
  await platform?.close()
  await postgres?.close()
})

const ready = (): Promise<Answer> => platform.call('GET', '/readyz', { unchecked: true })
const AWAY = { status: 200, body: { status: 'ready', checks: { database: 'away' } } }
const OVER = { status: 503, body: { status: 'not ready', checks: { database: 'failed' } } }

const OUTAGES = {
  'is stopped': { begin: () => postgres.stop(), end: () => postgres.start() },
  hangs: { begin: () => postgres.freeze(), end: () => postgres.thaw() },
}

test.each(['is stopped', 'hangs'] as const)(
  'while PostgreSQL %s, the process is ready as long as what it knows is good',
  async (how) => {
    const { apiKey } = await platform.space()
    const models = (): Promise<Answer> => platform.call('GET', '/llm/v1/models', { token: apiKey })
    expect((await models()).status).toBe(200)
    await OUTAGES[how].begin()
    try {
      // A question that hangs is given up after 2 s.
      await expect.poll(ready, { timeout: 10_000 }).toMatchObject(AWAY)
      expect((await models()).status).toBe(200)
      await expect.poll(ready, { timeout: 3 * STALE_SECONDS * 1000, interval: 250 }).toMatchObject(OVER)
      // Nothing is lost by taking it out now.
      expect((await models()).status).toBe(503)
      expect((await platform.call('GET', '/healthz', { unchecked: true })).status).toBe(200)
    } finally {
      await OUTAGES[how].end()
    }
    await expect
      .poll(async () => (await ready()).body.checks, { timeout: 15_000 })
      .toEqual({ database: 'ok' })
    expect((await ready()).status).toBe(200)
  },
  120_000,
)
