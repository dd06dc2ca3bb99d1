/** Answers that every operation of a kind shares: too large a body, a broken database, an issuer that is away. */
import { freePort } from '@atrium/testing'
import { describe, expect, test } from 'vitest'
import { openBrowser } from './browser.ts'
import { basic, createTestDatabase, REALM, startIdentityServer } from './identity-server.ts'

const PEOPLE = REALM.replace('machine2machine', 'people')
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const CLIENT = { id: 'client-of-this-test', secret: 'secret-of-this-test-0123456789' }
const PASSWORD = 'analytical engine'
const AUTHORIZE = new URLSearchParams({
  client_id: 'atrium-console',
  response_type: 'code',
  scope: 'openid',
  code_challenge: 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
  code_challenge_method: 'S256',
})

const FORMS: readonly [string, Record<string, string>][] = [
  [`${REALM}/access_token`, { grant_type: 'client_credentials', scope: 'machine2machine' }],
  [`${REALM}/introspect`, { token: 'a.b.c' }],
  [`${REALM}/token/revoke`, { token: 'a.b.c' }],
  [
    `${PEOPLE}/access_token`,
    { grant_type: 'refresh_token', client_id: 'atrium-console', refresh_token: 'x'.repeat(43) },
  ],
  [`${PEOPLE}/token/revoke`, { client_id: 'atrium-console', token: 'x'.repeat(43) }],
  [`${PEOPLE}/connect/endSession/confirm`, { xsrf: 'x' }],
  [`${PEOPLE}/sign-in/some-interaction-id-00`, { username: 'ada', password: 'analytical engine' }],
  [`${PEOPLE}/password`, { username: 'ada', current: 'analytical engine', new: 'difference engine' }],
]

test('a body over the limit is 413 everywhere', async () => {
  await using database = await createTestDatabase()
  await using server = await startIdentityServer(database.url)
  for (const [path] of FORMS) {
    const { status } = await server.call('POST', `/auth${path.replace(/^\/auth/, '')}`, {
      headers: FORM,
      body: `a=${'x'.repeat(70_000)}`,
    })
    expect(status, path).toBe(413)
  }
  const token = await server.identity.mintUserToken({ qxId: 'ada' })
  for (const path of ['/auth/v1/password', `${PEOPLE}/userinfo`]) {
    const { status } = await server.call('POST', path, {
      token,
      body: { current: 'x'.repeat(2 * 1024 * 1024) },
    })
    expect(status, path).toBe(413)
  }
})

test('a broken database is an opaque 500 wherever it is needed', async () => {
  await using database = await createTestDatabase()
  await using server = await startIdentityServer(database.url)
  await server.identity.clients.put({
    clientId: CLIENT.id,
    name: 'Test',
    secret: CLIENT.secret,
    status: 'Active',
  })
  await server.identity.accounts.create({ qxId: 'ada', name: 'Ada', password: PASSWORD })
  const redirect = encodeURIComponent(`${server.url}/callback`)
  const authorize = `${PEOPLE}/authorize?${AUTHORIZE}&redirect_uri=${redirect}`
  const [signingIn, signedIn] = [openBrowser(server.url), openBrowser(server.url)]
  const page = await signingIn.go(authorize)
  await signedIn.submit(await signedIn.go(authorize), { user: 'ada', password: PASSWORD })
  const signOutPage = await signedIn.go(`${PEOPLE}/connect/endSession`)
  const token = await server.identity.mintUserToken({ qxId: 'ada' })
  await database.pool.query('ALTER SCHEMA identity RENAME TO gone')
  await new Promise((resolve) => setTimeout(resolve, 900))
  const statuses: Record<string, number> = {}
  const note = async (
    method: string,
    path: string,
    options: Parameters<typeof server.call>[2],
  ): Promise<void> => {
    const answer = await server.call(method, path, options)
    statuses[`${method} ${path}`] = answer.status
    expect(JSON.stringify(answer.body)).not.toMatch(/relation|identity\.|node_modules/)
  }
  for (const [path, fields] of FORMS.slice(0, 5)) {
    const headers = path.startsWith(REALM) ? { ...FORM, ...basic(CLIENT.id, CLIENT.secret) } : FORM
    await note('POST', path, { headers, body: new URLSearchParams(fields).toString() })
  }
  const passwords = { user: 'ada', current: PASSWORD, new: 'difference engine', again: 'difference engine' }
  const visits = {
    start: await openBrowser(server.url).go(authorize),
    resume: await signingIn.go(page.url.replace('/sign-in/', '/authorize/')),
    page: await signingIn.go(page.url),
    signIn: await signingIn.submit(page, { user: 'ada', password: PASSWORD }),
    password: await signingIn.go(`${PEOPLE}/password`, { form: passwords }),
    signOut: await signedIn.go(`${PEOPLE}/connect/endSession`),
    confirm: await signedIn.submit(signOutPage, { logout: 'yes' }),
  }
  for (const [name, visit] of Object.entries(visits)) {
    statuses[name] = visit.status
    expect(visit.text, name).not.toMatch(/relation|node_modules/)
  }
  await note('GET', '/auth/v1/sessions', { token })
  await note('DELETE', '/auth/v1/sessions', { token })
  await note('DELETE', '/auth/v1/sessions/01890000-0000-7000-8000-000000000000', { token })
  await note('POST', '/auth/v1/password', {
    token,
    body: { currentPassword: PASSWORD, newPassword: 'difference engine' },
  })
  await note('GET', `${PEOPLE}/userinfo`, { token })
  await note('POST', `${PEOPLE}/userinfo`, { token })
  await database.pool.query('ALTER SCHEMA gone RENAME TO identity')
  expect(statuses).toEqual(Object.fromEntries(Object.keys(statuses).map((key) => [key, 500])))
})

describe('an issuer that is away', () => {
  test('makes its tokens a 503, which is not the caller’s fault', async () => {
    await using database = await createTestDatabase()
    const issuer = `http://127.0.0.1:${await freePort()}`
    await using server = await startIdentityServer(database.url, { env: { ATRIUM_M2M_ISSUER: issuer } })
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    const token = `${part({ alg: 'RS256', kid: 'x' })}.${part({ iss: issuer, sub: 'x', exp: 4_000_000_000, scope: 'machine2machine' })}.c2ln`
    for (const [method, path, body] of [
      ['GET', '/auth/v1/sessions'],
      ['DELETE', '/auth/v1/sessions'],
      ['DELETE', '/auth/v1/sessions/01890000-0000-7000-8000-000000000000'],
      ['POST', '/auth/v1/password', { currentPassword: PASSWORD, newPassword: 'difference engine' }],
      ['GET', `${PEOPLE}/userinfo`],
      ['POST', `${PEOPLE}/userinfo`],
    ] as const) {
      const { status } = await server.call(method, path, { token, ...(body === undefined ? {} : { body }) })
      expect(status, `${method} ${path}`).toBe(503)
    }
  })
})

test('guessing client secrets is slowed down at every endpoint of clients', async () => {
  await using database = await createTestDatabase()
  await using server = await startIdentityServer(database.url)
  await server.identity.clients.put({
    clientId: CLIENT.id,
    name: 'Test',
    secret: CLIENT.secret,
    status: 'Active',
  })
  for (const path of [`${REALM}/introspect`, `${REALM}/token/revoke`]) {
    const guess = () =>
      server.call('POST', path, {
        headers: { ...FORM, ...basic(CLIENT.id, `wrong-${Math.random()}-0123456789`) },
        body: 'token=a.b.c',
      })
    const statuses = await Promise.all(Array.from({ length: 14 }, guess))
    expect(
      statuses.some(({ status }) => status === 429),
      path,
    ).toBe(true)
  }
})

test('an application that nobody registered is refused, and a body that is not JSON', async () => {
  await using database = await createTestDatabase()
  await using server = await startIdentityServer(database.url)
  for (const path of [`${PEOPLE}/access_token`, `${PEOPLE}/token/revoke`]) {
    const body = 'grant_type=refresh_token&refresh_token=x&token=x&client_id=nobody'
    expect((await server.call('POST', path, { headers: FORM, body })).status, path).toBe(401)
  }
  const token = await server.identity.mintUserToken({ qxId: 'ada' })
  expect((await server.call('POST', `${PEOPLE}/userinfo`, { token, body: '{' })).status).toBe(400)
})

test('more sign-ins than passwords can be checked are told to come back', async () => {
  await using database = await createTestDatabase()
  await using server = await startIdentityServer(database.url, { trustedProxies: ['127.0.0.1'] })
  // Each from an address of its own, so that no throttle answers before the queue is full.
  const from = (n: number) => ({ 'x-forwarded-for': `10.0.${Math.floor(n / 250)}.${1 + (n % 250)}` })
  const browser = openBrowser(server.url)
  const signInPage = await browser.go(
    `${PEOPLE}/authorize?${AUTHORIZE}&redirect_uri=${encodeURIComponent(`${server.url}/callback`)}`,
  )
  const passwords = { user: 'ada', current: PASSWORD, new: 'difference engine', again: 'difference engine' }
  let address = 0
  /** The queue is kept full from inside, so that it does not matter how fast requests come in. */
  const statusWhenFull = async (visit: () => ReturnType<typeof browser.go>): Promise<number> => {
    for (let n = 0; n < 300; n++) {
      server.identity.accounts.verifyPassword(`nobody-${n}`, PASSWORD).catch(() => {})
    }
    const { status, headers } = await visit()
    if (status === 503) expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    return status
  }
  const poll = { timeout: 50_000, interval: 10 }
  await expect
    .poll(
      () =>
        statusWhenFull(() =>
          browser.submit(signInPage, { user: 'ada', password: PASSWORD }, from(++address)),
        ),
      poll,
    )
    .toBe(503)
  await expect
    .poll(
      () =>
        statusWhenFull(() => browser.go(`${PEOPLE}/password`, { form: passwords, headers: from(++address) })),
      poll,
    )
    .toBe(503)
}, 120_000)
