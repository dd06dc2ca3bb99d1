import { startTestPlatform, TEST_CREDENTIALS, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'

/** Each looks like what it stands for, and no two have a part in common. */
const GIVEN = {
  bearer: 'bearer-0dC4mZfQ1x',
  basic: 'basic-7TqLwR2nVb',
  cookie: 'cookie-K9sYp3HdUe',
  query: 'query-a6XjGtM8cW',
  field: 'field-Zr5BvN1oEk',
  path: 'path-h3JuQi4yLs',
} as const

const SERVICES = { auth: 'identity', portal: 'portal', llm: 'gateway', 'llm-cn': 'gateway', agents: 'agents' }
const SCHEMAS = ['identity', 'portal', 'gateway', 'agents', 'access', 'platform']
const SECRET_FIELDS = ['password', 'current', 'new', 'again', 'token', 'secret', 'client_secret', 'code']

const lines: string[] = []
let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform({ logLines: lines })
})
afterAll(() => platform.close())

interface Operation {
  readonly method: string
  readonly path: string
}

async function listOperations(): Promise<Operation[]> {
  const found: Operation[] = []
  for (const address of Object.keys(SERVICES)) {
    const answer = await fetch(`${platform.url}/${address}/openapi.json`)
    const { paths } = (await answer.json()) as { paths: Record<string, Record<string, unknown>> }
    for (const [path, methods] of Object.entries(paths))
      for (const method of Object.keys(methods))
        found.push({ method: method.toUpperCase(), path: `/${address}${path}` })
  }
  return found
}

const json = { 'content-type': 'application/json' }
const form = { 'content-type': 'application/x-www-form-urlencoded' }
const secretFields = Object.fromEntries(SECRET_FIELDS.map((name) => [name, GIVEN.field]))
/** Whole, as a form, cut off in the middle, and none. */
const BODIES = [
  { headers: json, body: JSON.stringify({ ...secretFields, model: GIVEN.field, spaceName: GIVEN.field }) },
  { headers: form, body: new URLSearchParams(secretFields).toString() },
  { headers: json, body: `{"password": "${GIVEN.field}", "token` },
  { headers: {}, body: undefined },
]

/** Puts a secret wherever a request has room for one. */
async function callWithSecrets(operation: Operation, spaceId: string, credentials: readonly string[]) {
  const query = new URLSearchParams(
    SECRET_FIELDS.map((name): [string, string] => [name, GIVEN.query]),
  ).toString()
  const paths = [spaceId, GIVEN.path].map((id) => operation.path.replaceAll(/\{[^}]+\}/g, id))
  for (const [nth, authorization] of credentials.entries()) {
    const { headers, body } = BODIES[nth % BODIES.length] ?? {}
    const hasBody = operation.method !== 'GET' && operation.method !== 'HEAD'
    for (const path of paths) {
      const answer = await fetch(`${platform.url}${path}?${query}`, {
        method: operation.method,
        redirect: 'manual',
        headers: { ...headers, authorization, cookie: `_session=${GIVEN.cookie}` },
        ...(hasBody && body !== undefined ? { body } : {}),
      })
      await answer.arrayBuffer()
    }
  }
}

test('no request leaves a credential in the log, whatever it asks and wherever it has one', async () => {
  const space = await platform.space()
  const basic = Buffer.from(`client:${GIVEN.basic}`).toString('base64')
  const good = [space.ownerToken, platform.superuserClient.token, space.apiKey, platform.superuser.token]
  const credentials = [...good, GIVEN.bearer].map((token) => `Bearer ${token}`).concat(`Basic ${basic}`)
  const operations = (await listOperations()).filter(
    // They end what the other calls need.
    ({ method, path }) => method !== 'DELETE' || !path.includes('/spaces/{spaceId}'),
  )
  for (const operation of operations) await callWithSecrets(operation, space.spaceId, credentials)
  for (const schema of SCHEMAS) await platform.pool.query(`ALTER SCHEMA ${schema} RENAME TO away_${schema}`)
  const failuresBefore = lines.length
  for (const operation of operations) await callWithSecrets(operation, space.spaceId, credentials)
  for (const schema of SCHEMAS) await platform.pool.query(`ALTER SCHEMA away_${schema} RENAME TO ${schema}`)

  const entries = lines.map((line) => JSON.parse(line) as { route?: string; err?: object })
  for (const address of Object.keys(SERVICES))
    expect(entries.filter(({ route }) => route?.startsWith(`/${address}/`)).length).toBeGreaterThan(0)
  expect(entries.slice(failuresBefore).filter(({ err }) => err !== undefined).length).toBeGreaterThan(10)
  const secrets = [
    ...Object.values(GIVEN),
    ...good,
    basic,
    TEST_CREDENTIALS.ATRIUM_MASTER_KEY,
    TEST_CREDENTIALS.ATRIUM_BOOTSTRAP_PASSWORD,
    TEST_CREDENTIALS.ATRIUM_BOOTSTRAP_CLIENT_SECRET,
    new URL(platform.databaseUrl).password,
  ]
  const leaks = lines.filter((line) => secrets.some((secret) => line.includes(secret)))
  expect(leaks).toEqual([])
})
