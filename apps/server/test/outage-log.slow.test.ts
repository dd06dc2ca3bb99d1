import { setTimeout as delay } from 'node:timers/promises'
import {
  type Answer,
  type OwnPostgres,
  startOwnPostgres,
  startTestPlatform,
  type TestPlatform,
} from '@atrium/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** The outage, its end, and the connection for announcements, each with some room. */
const MOST_LINES = 20
/** More than there may be lines. */
const PEOPLE = 40
const UNKNOWN_KEY = '00000000-0000-4000-8000-000000000000'
const TOKEN_PATH = '/auth/oauth2/realms/root/realms/machine2machine/access_token'

interface Line {
  readonly level: string
  readonly msg: string
}

const lines: string[] = []
let postgres: OwnPostgres
let platform: TestPlatform
beforeAll(async () => {
  postgres = await startOwnPostgres()
  platform = await startTestPlatform({
    logLines: lines,
    env: {
      DATABASE_URL: postgres.url,
      ATRIUM_BACKGROUND_JOBS: 'true',
      ATRIUM_PORTAL_RATE_LIMIT: '1000000',
      ATRIUM_GATEWAY_RATE_LIMIT: '1000000',
      ATRIUM_IDENTITY_RATE_LIMIT: '1000000',
      ATRIUM_AGENTS_RATE_LIMIT: '1000000',
    },
  })
}, 120_000)
afterAll(async () => {
  await platform?.close()
  await postgres?.close()
})

const OUTAGES = {
  'is stopped': { begin: () => postgres.stop(), end: () => postgres.start() },
  hangs: { begin: () => postgres.freeze(), end: () => postgres.thaw() },
}

test.each(['is stopped', 'hangs'] as const)(
  'while PostgreSQL %s, the log says that it is away and that it is back, not what each request meets',
  async (how) => {
    const space = await platform.space()
    const { token } = platform.superuser
    const people = await Promise.all(
      Array.from({ length: PEOPLE }, (_, nth) => platform.userToken({ qxId: `qx-caller-${nth}` })),
    )
    const listSpaces = (bearer: string): Promise<Answer> =>
      platform.call('GET', '/portal/v1/spaces', { token: bearer })
    // Known, and so let in as far as their limits and the list itself.
    for (const person of people) expect((await listSpaces(person)).status).toBe(200)
    const ask = async (): Promise<number[]> => {
      const answers = await Promise.all([
        platform.call('GET', `/portal/v1/spaces/${space.spaceId}`, { token }),
        platform.call('POST', `/portal/v1/spaces`, { token, body: { spaceName: 'x', appId: 'y' } }),
        platform.call('GET', `/agents/v1/spaces/${space.spaceId}/agent`, { token }),
        platform.call('GET', '/llm/v1/models', { token: UNKNOWN_KEY }),
        platform.call('GET', '/auth/v1/sessions', { token: space.ownerToken }),
        platform.call('POST', TOKEN_PATH, {
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          body: `grant_type=client_credentials&scope=machine2machine&client_id=a&client_secret=b`,
        }),
        ...people.map(listSpaces),
      ])
      return answers.map(({ status }) => status)
    }
    lines.length = 0
    await OUTAGES[how].begin()
    await expect.poll(ask, { timeout: 30_000 }).toEqual(Array(6 + PEOPLE).fill(503))
    for (let round = 0; round < 5; round++) await ask()
    // What runs by itself meets the outage too: jobs, flushes, sweeps.
    await delay(12_000)
    await OUTAGES[how].end()
    await expect
      .poll(async () => (await platform.call('GET', '/portal/v1/spaces', { token })).status, {
        timeout: 30_000,
      })
      .toBe(200)
    await expect.poll(() => lines.join(''), { timeout: 10_000 }).toContain('the database is back')

    // As much as the default level shows.
    const entries = lines
      .map((line) => JSON.parse(line) as Line)
      .filter(({ level }) => !['debug', 'trace'].includes(level))
    const messages = entries.map(({ level, msg }) => `${level}: ${msg}`)
    expect(
      messages.filter((message) => /the database (does not answer|cannot be)/.test(message)),
    ).toHaveLength(1)
    expect(messages.filter((message) => message.includes('the database is back'))).toHaveLength(1)
    expect(messages.length, messages.join('\n')).toBeLessThanOrEqual(MOST_LINES)
  },
  120_000,
)
