import { type Answer, freePort, startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

const TOKEN = '/auth/oauth2/realms/root/realms/machine2machine/access_token'
const DISCOVERY = '/auth/oauth2/realms/root/realms/people/.well-known/openid-configuration'
const AUTHORIZE = '/auth/oauth2/realms/root/realms/people/authorize'
const BURST = 20
const A_MINUTE = 30

/** Every service limited alike, in two processes on one database. */
const env: Record<string, string> = {
  ATRIUM_TRUSTED_PROXIES: '127.0.0.1',
  ATRIUM_PUBLIC_URL: 'http://limits.test',
  ATRIUM_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
}
for (const service of ['IDENTITY', 'PORTAL', 'GATEWAY', 'AGENTS']) {
  env[`ATRIUM_${service}_RATE_LIMIT`] = String(A_MINUTE)
  env[`ATRIUM_${service}_RATE_LIMIT_BURST`] = String(BURST)
}

/** A call that is checked against the service's contract. */
const call = (
  platform: TestPlatform,
  method: string,
  path: string,
  options: { token?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> => platform.call(method, path, options)

let one: TestPlatform
let two: TestPlatform
let space: Awaited<ReturnType<TestPlatform['space']>>

beforeAll(async () => {
  one = await startTestPlatform({ env })
  two = await startTestPlatform({ env: { ...env, DATABASE_URL: one.databaseUrl } })
  space = await one.space()
})
afterAll(async () => {
  await two.close()
  await one.close()
})

/** Asks both processes in turns until long after the bucket must be empty. */
async function askInTurns(ask: (platform: TestPlatform) => Promise<Answer>) {
  const started = Date.now()
  const answers: Answer[] = []
  for (let i = 0; i < 3 * BURST; i++) answers.push(await ask(i % 2 === 0 ? one : two))
  const refilled = Math.ceil(((Date.now() - started) * A_MINUTE) / 60_000)
  return {
    answers,
    most: BURST + refilled,
    admitted: answers.filter(({ status }) => status === answers[0]?.status).length,
    others: answers.filter(({ status }) => status !== answers[0]?.status && status !== 429),
    refused: answers.findLast(({ status }) => status === 429),
  }
}

function expectLimited({ admitted, most, others, refused }: Awaited<ReturnType<typeof askInTurns>>): void {
  expect(others).toEqual([])
  expect(admitted).toBeGreaterThanOrEqual(BURST / 2)
  expect(admitted).toBeLessThanOrEqual(most)
  expect(refused?.headers.get('ratelimit-limit')).toBe(String(A_MINUTE))
  expect(refused?.headers.get('ratelimit-remaining')).toBe('0')
  expect(Number(refused?.headers.get('ratelimit-reset'))).toBeGreaterThan(0)
  expect(refused?.headers.get('retry-after')).toBe(refused?.headers.get('ratelimit-reset'))
}

const bucketsLike = async (service: string, holder: string): Promise<number> => {
  const { rows } = await one.pool.query(
    'SELECT count(*)::int AS n FROM access.rate_buckets WHERE service = $1 AND holder LIKE $2',
    [service, holder],
  )
  return rows[0].n
}

describe('rate limits', () => {
  it('hold for each credential and service, over processes', async () => {
    const portal = (token: string) => (platform: TestPlatform) =>
      call(platform, 'GET', `/portal/v1/spaces/${space.spaceId}`, { token })
    const agents = (token: string) => (platform: TestPlatform) =>
      call(platform, 'GET', '/agents/v1/models', { token })
    const limited = await askInTurns(portal(space.memberToken))
    expectLimited(limited)
    expect(limited.answers[0]?.status).toBe(200)
    expect(limited.answers[0]?.headers.get('ratelimit-limit')).toBe(String(A_MINUTE))
    expect(limited.refused?.body.error).toMatchObject({ code: 429 })
    expect(limited.refused?.body.error.message).toContain('for this user')
    expect((await portal(space.ownerToken)(one)).status).toBe(200)
    expect((await portal(space.apiKey)(two)).status).toBe(200)

    const inAgents = await askInTurns(agents(space.memberToken))
    expectLimited(inAgents)
    expect(inAgents.refused?.body).toMatchObject({ error: true, code: 'RATE_LIMIT_EXCEEDED' })

    const inGateway = await askInTurns((platform) =>
      call(platform, 'GET', '/llm/v1/models', { token: space.apiKey }),
    )
    expectLimited(inGateway)
    expect(inGateway.refused?.body.error).toMatchObject({
      type: 'rate_limit_error',
      code: 'rate_limit_exceeded',
    })
    expect((await agents(space.apiKey)(one)).status).toBe(200)
  })

  it('count what is refused for lack of rights, and not what is public', async () => {
    const token = await one.userToken({ qxId: 'qx-limited-stranger' })
    expectLimited(
      await askInTurns((platform) => call(platform, 'GET', `/portal/v1/spaces/${space.spaceId}`, { token })),
    )
    for (let i = 0; i < 2 * BURST; i++) expect((await call(one, 'GET', '/portal/liveness')).status).toBe(200)
  })

  it('keep nothing of credentials that are not good', async () => {
    const before = await bucketsLike('%', '%')
    for (let i = 0; i < 2 * BURST; i++) {
      const answer = await call(one, 'GET', '/portal/v1/spaces', { token: `no-such-key-${i}` })
      expect(answer.status).toBe(401)
      expect(answer.headers.has('ratelimit-limit')).toBe(false)
    }
    expect(await bucketsLike('%', '%')).toBe(before)
  })
})

describe('rate limits of identity', () => {
  const tokenOf = (clientId: string, clientSecret: string, address: string) => (platform: TestPlatform) =>
    call(platform, 'POST', TOKEN, {
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-forwarded-for': address,
      },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: clientId,
        client_secret: clientSecret,
        scope: 'machine2machine',
      }).toString(),
    })

  it('count tokens of a client by client and address', async () => {
    const secret = 'x'.repeat(43)
    for (const clientId of ['limited-a', 'limited-b'])
      await one.registerClient({ clientId, clientSecret: secret })
    const limited = await askInTurns(tokenOf('limited-a', secret, '203.0.113.1'))
    expectLimited(limited)
    expect(limited.answers[0]?.body.access_token).toEqual(expect.any(String))
    expect(limited.refused?.body.error).toBe('rate_limit_exceeded')
    expect((await tokenOf('limited-b', secret, '203.0.113.1')(one)).status).toBe(200)
    expect((await tokenOf('limited-a', secret, '203.0.113.2')(two)).status).toBe(200)
  })

  it('count clients that do not exist by the address, whatever they call themselves', async () => {
    let nth = 0
    expectLimited(
      await askInTurns((platform) =>
        tokenOf(`nobody-${nth++}`, 'wrong', `2001:db8::${nth.toString(16)}`)(platform),
      ),
    )
    expect(await bucketsLike('identity', '%nobody%')).toBe(0)
    expect(await bucketsLike('identity', 'address:2001:db8:%')).toBe(1)
  })

  it('count other public operations by the address, and keep the keys open to all', async () => {
    const from = (path: string, address: string) => (platform: TestPlatform) =>
      call(platform, 'GET', path, { headers: { 'x-forwarded-for': address } })
    const limited = await askInTurns(from(AUTHORIZE, '203.0.113.3'))
    expectLimited(limited)
    expect((await from(AUTHORIZE, '203.0.113.4')(one)).status).toBe(400)
    for (let i = 0; i < 2 * BURST; i++) expect((await from(DISCOVERY, '203.0.113.3')(two)).status).toBe(200)
  })
})

describe('when the buckets cannot be asked', () => {
  it('a process counts alone', async () => {
    const port = await freePort()
    await using platform = await startTestPlatform({ env: { ...env, ATRIUM_METRICS_PORT: String(port) } })
    const failures = async (): Promise<number> => {
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
      return Number(/^atrium_rate_limit_failures_total\{service="portal"\} (\d+)/m.exec(text)?.[1])
    }
    expect(await failures()).toBe(0)
    const token = await platform.userToken({ qxId: 'qx-limited' })
    await platform.pool.query('ALTER SCHEMA access RENAME TO away')
    const ask = async (): Promise<number> =>
      (await call(platform, 'GET', '/portal/v1/spaces', { token })).status
    const statuses: number[] = []
    while (statuses.length < 3 * BURST && !statuses.includes(429)) statuses.push(await ask())
    expect(statuses.slice(0, BURST)).toEqual(Array(BURST).fill(200))
    await expect.poll(ask, { timeout: 10_000 }).toBe(429)
    expect(await failures()).toBeGreaterThan(0)
  })
})
