import { createPool } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import {
  type Answer,
  type FakeOpenAi,
  type OwnPostgres,
  startFakeOpenAi,
  startOwnPostgres,
  startTestPlatform,
  type TestPlatform,
} from '@atrium/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'

/** Longer than it takes to find out that PostgreSQL hangs, so that both can be seen. */
const STALE_SECONDS = 10
const LIMIT_MS = 5000
const UNKNOWN_KEY = '00000000-0000-4000-8000-000000000000'
const TOKEN_PATH = '/auth/oauth2/realms/root/realms/machine2machine/access_token'
const hello = { model: 'gpt-4o', messages: [{ role: 'user', content: 'Hello' }] }

let postgres: OwnPostgres
let fake: FakeOpenAi
let platform: TestPlatform

beforeAll(async () => {
  postgres = await startOwnPostgres()
  fake = await startFakeOpenAi({ models: false })
  platform = await startTestPlatform({
    env: {
      DATABASE_URL: postgres.url,
      ATRIUM_STALE_SECONDS: String(STALE_SECONDS),
      OPENAI_BASE_URL: fake.url,
      OPENAI_API_KEY: 'sk-operator',
      ATRIUM_SANDBOX: 'off',
    },
  })
}, 120_000)
/** Ends the outage of a test, whatever became of it. */
let end: (() => Promise<void>) | undefined
const endOutage = async (): Promise<void> => {
  const ending = end
  end = undefined
  await ending?.()
  const spaces = (): Promise<Answer> => get('/portal/v1/spaces', platform.superuser.token)
  await expect.poll(async () => (await spaces()).status, { timeout: 15_000 }).toBe(200)
}
afterEach(endOutage)
afterAll(async () => {
  await platform?.close()
  await fake?.close()
  await postgres?.close()
})

const OUTAGES: Readonly<Record<string, { begin(): Promise<void>; end(): Promise<void> }>> = {
  'is stopped': { begin: () => postgres.stop(), end: () => postgres.start() },
  hangs: { begin: () => postgres.freeze(), end: () => postgres.thaw() },
  'is behind a network that swallows everything': {
    begin: async () => postgres.proxy.hold(),
    end: async () => postgres.proxy.release(),
  },
  'is behind a network that resets everything': {
    begin: async () => postgres.proxy.reset(),
    end: async () => postgres.proxy.release(),
  },
}

/** An answer that came in time. */
async function inTime(answer: Promise<Answer>): Promise<Answer> {
  const begun = performance.now()
  const came = await answer
  expect(performance.now() - begun).toBeLessThan(LIMIT_MS)
  return came
}

const get = (path: string, token: string): Promise<Answer> => inTime(platform.call('GET', path, { token }))

const chat = (token: string): Promise<Answer> =>
  inTime(platform.call('POST', '/llm/v1/chat/completions', { token, body: hello }))

const tokenOf = (client: { clientId: string; clientSecret: string }): Promise<Answer> =>
  inTime(
    platform.call('POST', TOKEN_PATH, {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: client.clientId,
        client_secret: client.clientSecret,
        scope: 'machine2machine',
      }).toString(),
    }),
  )

/** Calls that became cost, as the database itself says. */
async function charged(spaceId: string): Promise<number> {
  const log = createLogger({ level: 'silent' })
  const pool = createPool(postgres.directUrl(), { max: 1, applicationName: 'test', log })
  try {
    const { rows } = await pool.query<{ calls: number }>(
      "SELECT coalesce(sum((usage_details::jsonb->>'requests')::int), 0)::int AS calls FROM portal.cost_entries WHERE space_id = $1",
      [spaceId],
    )
    return rows[0]?.calls ?? 0
  } finally {
    await pool.end()
  }
}

function expectUnavailable(answer: Answer, body: object): void {
  expect(answer.status).toBe(503)
  expect(answer.body).toMatchObject(body)
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
}

const OF_GATEWAY = { error: { type: 'server_error', code: 'unavailable', param: null } }
const OF_PORTAL = { error: { code: 503 } }
const OF_AGENTS = { error: true, code: 'UNAVAILABLE' }
const OF_OAUTH = { error: 'temporarily_unavailable' }

/** A space with a key and people that this process knows, and one key that it knows to be revoked. */
async function startKnown() {
  const space = await platform.space()
  const { spaceId, ownerToken } = space
  const spacePath = `/portal/v1/spaces/${spaceId}`
  const made = await platform.call('POST', `${spacePath}/apikeys`, {
    token: platform.superuser.token,
    body: { name: 'revoked' },
  })
  const { apiKeyId, apiKeyValue: revoked } = made.body as Record<string, string>
  expect((await get('/llm/v1/models', revoked ?? '')).status).toBe(200)
  const known = async (): Promise<number[]> => {
    const answers = [
      get('/llm/v1/models', space.apiKey),
      get(spacePath, ownerToken),
      get('/agents/v1/models', ownerToken),
    ]
    return (await Promise.all(answers)).map(({ status }) => status)
  }
  expect(await known()).toEqual([200, 200, 200])
  expect((await tokenOf(platform.superuserClient)).status).toBe(200)
  const gone = await platform.call('DELETE', `${spacePath}/apikeys/${apiKeyId}`, {
    token: ownerToken,
  })
  expect(gone.status).toBe(204)
  expect((await chat(revoked ?? '')).status).toBe(401)
  expect((await chat(space.apiKey)).status).toBe(200)
  return { ...space, revoked: revoked ?? '', spacePath, known }
}

describe.each(Object.keys(OUTAGES))('while PostgreSQL %s', (how) => {
  test('what is known is served for a while, all else gets 503, and afterwards everything goes on', async () => {
    const space = await startKnown()
    let served = 1
    end = OUTAGES[how]?.end
    await OUTAGES[how]?.begin()
    const callKnown = async (): Promise<void> => {
      const answers = await Promise.all(Array.from({ length: 5 }, () => chat(space.apiKey)))
      expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(200))
      served += answers.length
    }
    const [revoked, unknown, models, ofPortal, ofAgents] = await Promise.all([
      chat(space.revoked),
      chat(UNKNOWN_KEY),
      get('/agents/v1/models', space.ownerToken),
      get(space.spacePath, space.ownerToken),
      get(`/agents/v1/spaces/${space.spaceId}/agent`, space.ownerToken),
      callKnown(),
    ])
    expect([revoked.status, models.status]).toEqual([401, 200])
    expectUnavailable(unknown, OF_GATEWAY)
    expectUnavailable(ofPortal, OF_PORTAL)
    expectUnavailable(ofAgents, OF_AGENTS)
    await callKnown()
    expect((await chat(space.revoked)).status).toBe(401)

    let last: Answer | undefined
    const untilUnknown = async (): Promise<number> => {
      last = await chat(space.apiKey)
      if (last.status === 200) served += 1
      return last.status
    }
    await expect.poll(untilUnknown, { timeout: 3 * STALE_SECONDS * 1000, interval: 500 }).toBe(503)
    if (last !== undefined) expectUnavailable(last, OF_GATEWAY)
    // Each was read at a time of its own.
    const eventually = async (ask: () => Promise<Answer>, body: object): Promise<void> => {
      await expect.poll(async () => (await ask()).status, { timeout: 10_000 }).toBe(503)
      expectUnavailable(await ask(), body)
    }
    await eventually(() => get('/agents/v1/models', space.ownerToken), OF_AGENTS)
    await eventually(() => tokenOf(platform.superuserClient), OF_OAUTH)
    await endOutage()

    await expect.poll(space.known, { timeout: 10_000 }).toEqual([200, 200, 200])
    expect((await chat(space.revoked)).status).toBe(401)
    expect((await chat(space.apiKey)).status).toBe(200)
    expect((await tokenOf(platform.superuserClient)).status).toBe(200)
    await expect.poll(() => charged(space.spaceId), { timeout: 10_000 }).toBe(served + 1)
  }, 120_000)
})

interface Contract {
  readonly paths: Record<string, Record<string, { operationId: string; responses: Record<string, unknown> }>>
}

/** What is answered without a guard, by libraries and pages: other tests see these. */
const UNGUARDED =
  /^(?:getReadiness|signIn|submit|show|changePasswordOnPage|choosePassword|acceptInvitationOnPage|resume|issue|introspect|revoke|request|confirm|authorize|start)/i

test('every operation that needs the database says so with 503', async () => {
  const space = await platform.space()
  await platform.call('GET', '/agents/v1/models', { token: platform.superuser.token })
  const contracts = await Promise.all(
    ['auth', 'portal', 'agents', 'workflows', 'llm'].map(async (service) => {
      const answer = await fetch(`${platform.url}/${service}/openapi.json`)
      return [service, (await answer.json()) as Contract] as const
    }),
  )
  end = () => postgres.start()
  await postgres.stop()
  const models = (): Promise<Answer> => get('/agents/v1/models', platform.superuser.token)
  await expect.poll(async () => (await models()).status, { timeout: 30_000 }).toBe(503)
  const other: string[] = []
  for (const [service, { paths }] of contracts) {
    const token = service === 'llm' ? space.apiKey : platform.superuser.token
    for (const [template, operations] of Object.entries(paths)) {
      const path = template.replace('{webhookSecret}', 'x'.repeat(43)).replaceAll(/\{[^}]+\}/g, space.spaceId)
      for (const [method, { operationId, responses }] of Object.entries(operations)) {
        if (responses['503'] === undefined || UNGUARDED.test(operationId)) continue
        const { status, headers } = await platform.call(method.toUpperCase(), `/${service}${path}`, { token })
        if (status !== 503 || headers.get('retry-after') === null) other.push(`${operationId}: ${status}`)
      }
    }
  }
  expect(other).toEqual([])
  await endOutage()
  await expect.poll(async () => (await models()).status, { timeout: 10_000 }).toBe(200)
}, 120_000)
