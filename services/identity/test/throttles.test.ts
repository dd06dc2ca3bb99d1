import { createPool } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import { freePort } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSharedThrottle } from '../src/domain/shared-throttle.ts'
import { deleteExpiredJob } from '../src/jobs/delete-expired.ts'
import { identityDatabase } from '../src/queries/tables.ts'
import { CALLBACK, PEOPLE } from './browser.ts'
import { createTestDatabase, grant, startIdentityServer } from './identity-server.ts'

/** Two processes on one database: whoever is slowed down in one is slowed down in both. */
let database: Awaited<ReturnType<typeof createTestDatabase>>
let here: Awaited<ReturnType<typeof startIdentityServer>>
let there: Awaited<ReturnType<typeof startIdentityServer>>

const PER_MINUTE = 20

beforeAll(async () => {
  database = await createTestDatabase()
  const env = { ATRIUM_SIGN_INS_PER_MINUTE: String(PER_MINUTE) }
  const options = { env, publicUrl: 'http://atrium.test', trustedProxies: ['127.0.0.1'] }
  here = await startIdentityServer(database.url, options)
  there = await startIdentityServer(database.url, options)
})

afterAll(async () => {
  await there?.[Symbol.asyncDispose]()
  await here?.[Symbol.asyncDispose]()
  await database?.[Symbol.asyncDispose]()
})

const from = (address: string) => ({ 'x-forwarded-for': address })

describe('passwords', () => {
  const PASSWORD = 'analytical engine'
  const offer = (server: typeof here, user: string, password: string, address: string) =>
    server.call('POST', `${PEOPLE}/password`, {
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...from(address) },
      body: new URLSearchParams({ user, current: password, new: PASSWORD, again: PASSWORD }).toString(),
    })

  test('are guessed five times in all processes together, at once or one after the other', async () => {
    await here.identity.accounts.create({ qxId: 'qx-guessed', name: 'G', password: PASSWORD })
    const guesses = Array.from({ length: 24 }, (_, at) =>
      offer(at % 2 === 0 ? here : there, 'qx-guessed', `guess ${at}`, '192.0.2.1'),
    )
    const statuses = (await Promise.all(guesses)).map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(5).fill(401), ...Array(19).fill(429)])
    for (const server of [here, there]) {
      const right = await offer(server, 'qx-guessed', PASSWORD, '192.0.2.1')
      expect(right.status).toBe(429)
      expect(Number(right.headers.get('retry-after'))).toBeGreaterThan(0)
      // Nobody locks a person out from elsewhere.
      expect((await offer(server, 'qx-guessed', PASSWORD, '192.0.2.2')).status).toBe(200)
    }
  })

  test('one address tries fifty accounts at most, of which none is kept as it was typed', async () => {
    const guesses = Array.from({ length: 60 }, (_, at) =>
      offer(at % 2 === 0 ? here : there, `qx-sprayed-${at}`, 'spring 2026', '2001:db8:1:2::7'),
    )
    const refused = (await Promise.all(guesses)).filter(({ status }) => status === 401)
    // One more may be tried for each few seconds that this took.
    expect(refused.length).toBeGreaterThanOrEqual(50)
    expect(refused.length).toBeLessThan(60)
    const next = async () => (await offer(there, 'qx-sprayed-99', 'spring 2026', '2001:db8:1:2:9::1')).status
    await expect.poll(next).toBe(429)
    const { rows } = await database.pool.query(
      `select encode(bucket, 'escape') as bucket from identity.attempts`,
    )
    expect(JSON.stringify(rows)).not.toContain('sprayed')
  })
})

describe('client secrets', () => {
  test('are guessed ten times in all processes together; who keeps using the right one goes on', async () => {
    const { clientId, secret } = await here.identity.clients.create({ name: 'Guessed', status: 'Active' })
    const token = (server: typeof here, given: string, address: string) =>
      server.postForm('/access_token', grant(clientId, given), from(address))
    expect((await token(here, secret, '192.0.2.3')).status).toBe(200)
    const guesses = Array.from({ length: 24 }, (_, at) =>
      token(at % 2 === 0 ? here : there, `guess number ${at}`, '192.0.2.3'),
    )
    const statuses = (await Promise.all(guesses)).map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(10).fill(401), ...Array(14).fill(429)])
    const right = await token(there, secret, '192.0.2.3')
    expect([right.status, right.body.error]).toEqual([429, 'slow_down'])
    expect((await token(here, secret, '192.0.2.3')).status).toBe(200)
    expect((await token(there, secret, '192.0.2.4')).status).toBe(200)
  })
})

describe('/authorize', () => {
  const authorize = async (server: typeof here, more: Record<string, string>, address: string) => {
    const query = new URLSearchParams({
      client_id: 'atrium-console',
      response_type: 'code',
      redirect_uri: CALLBACK,
      scope: 'openid',
      code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
      code_challenge_method: 'S256',
      ...more,
    })
    const answer = await fetch(`${server.url}${PEOPLE}/authorize?${query}`, {
      headers: from(address),
      redirect: 'manual',
    })
    return { status: answer.status, headers: answer.headers, body: await answer.text() }
  }
  const stored = async () => {
    const { rows } = await database.pool.query(
      `select count(*)::int as rows, coalesce(sum(pg_column_size(oidc_records.*)), 0)::int as bytes from identity.oidc_records`,
    )
    return rows[0] as { rows: number; bytes: number }
  }

  test.each(['state', 'nonce', 'login_hint', 'ui_locales'])(
    'refuses a long %s on a page, and stores nothing',
    async (name) => {
      const before = await stored()
      const answer = await authorize(here, { [name]: 'x'.repeat(2049) }, '192.0.2.5')
      expect(answer.status).toBe(400)
      expect(answer.headers.get('content-type')).toContain('text/html')
      expect(answer.body).toContain(`Query.${name} must have at most 2048 bytes`)
      expect(await stored()).toEqual(before)
      expect((await authorize(here, { [name]: 'x'.repeat(2048) }, '192.0.2.5')).status).toBe(303)
    },
  )

  test('refuses many parameters that are long together', async () => {
    const long = 'x'.repeat(2000)
    const answer = await authorize(here, { state: long, nonce: long, login_hint: long }, '192.0.2.5')
    expect([answer.status, answer.body]).toEqual([400, expect.stringContaining('at most 6144 bytes')])
  })

  test('is begun so often from one address, in all processes together, and what is stored stays small', async () => {
    const before = await stored()
    const requests = Array.from({ length: 120 }, (_, at) =>
      authorize(at % 2 === 0 ? here : there, { state: 'x'.repeat(2048) }, '192.0.2.6'),
    )
    const answers = await Promise.all(requests)
    const begun = answers.filter(({ status }) => status === 303)
    // Some more may come as time passes.
    expect(begun.length).toBeGreaterThanOrEqual(PER_MINUTE)
    expect(begun.length).toBeLessThan(2 * PER_MINUTE)
    const refused = answers.find(({ status }) => status === 429)
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused?.body).toContain('Too many sign-ins were begun here')
    const after = await stored()
    expect(after.rows - before.rows).toBe(begun.length)
    expect(after.bytes - before.bytes).toBeLessThan(begun.length * 8192)
    expect((await authorize(here, {}, '192.0.2.7')).status).toBe(303)
  })
})

describe('what is counted', () => {
  test('is deleted when it says nothing any more', async () => {
    await database.pool.query(`update identity.attempts set empty_at = now() - interval '1 second'`)
    await deleteExpiredJob(identityDatabase(database.pool)).run({}, new AbortController().signal)
    const { rows } = await database.pool.query('select count(*)::int as rows from identity.attempts')
    expect(rows[0].rows).toBe(0)
  })

  test('is counted by each process for itself while the database is away', async () => {
    const log = createLogger({ level: 'silent' })
    const away = `postgres://nobody@127.0.0.1:${await freePort()}/nowhere`
    const pool = createPool(away, { max: 1, applicationName: 'test', log })
    const throttle = createSharedThrottle(identityDatabase(pool), log)
    const limit = { key: 'somebody', burst: 3, everySeconds: 60 }
    const waits = [1, 2, 3, 4].map(() => throttle.take(limit))
    expect((await Promise.all(waits)).filter((wait) => wait === 0)).toHaveLength(3)
    expect(await throttle.waitSeconds(limit)).toBeGreaterThan(0)
    await throttle.forgive(limit)
    expect(await throttle.take(limit)).toBe(0)
    await pool.end()
  })
})
