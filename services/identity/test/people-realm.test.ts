import { decodeJwt, decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CALLBACK, openApplication, openBrowser, PEOPLE, type Tokens } from './browser.ts'
import { startIdentityServer } from './identity-server.ts'
import { PASSWORD, type PeopleServer, startPeopleServer } from './people-server.ts'

let people: PeopleServer
let server: PeopleServer['server']
let application: PeopleServer['application']
let codeOf: PeopleServer['codeOf']
beforeAll(async () => {
  people = await startPeopleServer()
  ;({ server, application, codeOf } = people)
})
afterAll(() => people[Symbol.asyncDispose]())

describe('discovery', () => {
  test('tells of code, S256 and ES256, and of nothing else', async () => {
    const { status, body } = await server.call('GET', `${PEOPLE}/.well-known/openid-configuration`)
    expect(status).toBe(200)
    expect(body).toMatchObject({
      issuer: `${server.url}${PEOPLE}`,
      authorization_endpoint: `${server.url}${PEOPLE}/authorize`,
      token_endpoint: `${server.url}${PEOPLE}/access_token`,
      userinfo_endpoint: `${server.url}${PEOPLE}/userinfo`,
      end_session_endpoint: `${server.url}${PEOPLE}/connect/endSession`,
      revocation_endpoint: `${server.url}${PEOPLE}/token/revoke`,
      jwks_uri: `${server.url}${PEOPLE}/connect/jwk_uri`,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      id_token_signing_alg_values_supported: ['ES256'],
    })
    const { body: keys } = await server.call('GET', `${PEOPLE}/connect/jwk_uri`)
    expect(keys.keys).toHaveLength(1)
    expect(JSON.stringify(keys)).not.toContain('"d"')
  })
})

describe('signing in', () => {
  test('gives a token that speaks for the person, an id token and a refresh token', async () => {
    const tokens = await application.signIn('qx-ada', PASSWORD)
    expect(await server.identity.verifyToken(tokens.access_token)).toEqual({
      kind: 'user',
      qxId: 'qx-ada',
      name: 'Ada Lovelace',
      sessionId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    })
    expect(decodeProtectedHeader(tokens.access_token)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' })
    expect(decodeJwt(tokens.access_token)).toMatchObject({
      iss: `${server.url}${PEOPLE}`,
      aud: server.url,
      sub: 'qx-ada',
      qxId: 'qx-ada',
      name: 'Ada Lovelace',
      token_use: 'user',
      client_id: 'atrium-console',
    })
    expect(decodeJwt(tokens.id_token)).toMatchObject({
      aud: 'atrium-console',
      sub: 'qx-ada',
      nonce: 'the-nonce',
      name: 'Ada Lovelace',
      email: 'ada@example.test',
    })
    expect(tokens.expires_in).toBe(3600)
    expect(tokens.refresh_token).toMatch(/^[\w-]{30,}$/)
  })

  test('userinfo says who it is, to people alone', async () => {
    const { access_token: token, id_token: idToken } = await application.signIn('qx-ada', PASSWORD)
    for (const method of ['GET', 'POST']) {
      const { status, body } = await server.call(method, `${PEOPLE}/userinfo`, { token })
      expect([status, body]).toEqual([
        200,
        {
          sub: 'qx-ada',
          qxId: 'qx-ada',
          name: 'Ada Lovelace',
          preferred_username: 'qx-ada',
          email: 'ada@example.test',
        },
      ])
    }
    expect((await server.call('GET', `${PEOPLE}/userinfo`)).status).toBe(401)
    // An id token opens nothing.
    expect((await server.call('GET', `${PEOPLE}/userinfo`, { token: idToken })).status).toBe(401)
    const { clientId, secret } = await server.identity.clients.create({ name: 'M', status: 'Active' })
    const machine = await server.token(clientId, secret)
    expect((await server.call('GET', `${PEOPLE}/userinfo`, { token: machine })).status).toBe(403)
  })

  test('a second application in the same browser needs no password; prompt=login asks again', async () => {
    const browser = openBrowser(server.url)
    await application.signIn('qx-ada', PASSWORD, browser)
    const other = openApplication(server.url, 'other-app', 'https://other.test/cb')
    const silent = await browser.go(other.begin({ prompt: 'none' }).address)
    expect(silent.url).toContain('https://other.test/cb?code=')
    const again = await browser.go(other.begin({ prompt: 'login' }).address)
    expect(again.text).toContain('<h1>Sign in</h1>')
    const consent = await browser.go(
      other.begin({ prompt: 'consent', scope: 'openid offline_access' }).address,
    )
    expect(consent.url).toContain('https://other.test/cb?code=')
    expect((await openBrowser(server.url).go(other.begin({ prompt: 'none' }).address)).url).toContain(
      'error=login_required',
    )
  })

  test('as somebody else in the same browser ends the first one’s session', async () => {
    await server.identity.accounts.create({ qxId: 'qx-bob', name: 'Bob', password: PASSWORD })
    const browser = openBrowser(server.url)
    const ada = await application.signIn('qx-ada', PASSWORD, browser)
    const { address, verifier } = application.begin({ prompt: 'login' })
    const done = await browser.submit(await browser.go(address), { user: 'qx-bob', password: PASSWORD })
    const code = new URL(done.url).searchParams.get('code') ?? ''
    const { body } = await application.redeem(code, verifier)
    expect(await server.identity.verifyToken(String(body.access_token))).toMatchObject({ qxId: 'qx-bob' })
    expect(await codeOf(ada.access_token)).toBe('token_session_ended')
  })

  test('again as the same person goes on with the session', async () => {
    const browser = openBrowser(server.url)
    const first = await application.signIn('qx-ada', PASSWORD, browser)
    const { address, verifier } = application.begin({ prompt: 'login' })
    const done = await browser.submit(await browser.go(address), { user: 'qx-ada', password: PASSWORD })
    const { body } = await application.redeem(new URL(done.url).searchParams.get('code') ?? '', verifier)
    expect(decodeJwt(String(body.access_token)).sid).toBe(decodeJwt(first.access_token).sid)
    expect(await codeOf(first.access_token)).toBe('accepted')
  })

  test('loopback applications choose their port', async () => {
    const native = openApplication(server.url, 'atrium-console', 'http://127.0.0.1:51234/callback')
    expect((await native.signIn('qx-ada', PASSWORD)).access_token).toBeTruthy()
    const scheme = openApplication(server.url, 'native-app', 'com.other:/cb')
    expect((await scheme.signIn('qx-ada', PASSWORD)).access_token).toBeTruthy()
  })

  test('an application with an address scheme of its own gets nothing by the session alone', async () => {
    const browser = openBrowser(server.url)
    await application.signIn('qx-ada', PASSWORD, browser)
    const native = openApplication(server.url, 'native-app', 'com.other:/cb')
    expect((await browser.go(native.begin({ prompt: 'none' }).address)).url).toContain(
      'error=interaction_required',
    )
    expect((await browser.go(native.begin().address)).text).toContain('<h1>Sign in</h1>')
    expect((await native.signIn('qx-ada', PASSWORD, browser)).access_token).toBeTruthy()
  })

  test('its cookies are HttpOnly, SameSite, signed and below /auth', async () => {
    const browser = openBrowser(server.url)
    await application.signIn('qx-ada', PASSWORD, browser)
    const cookies = browser.cookies()
    expect(cookies.some((line) => line.startsWith('atrium_session='))).toBe(true)
    expect(cookies.some((line) => line.startsWith('atrium_session.sig='))).toBe(true)
    for (const line of cookies) {
      expect(line).toMatch(/httponly/i)
      expect(line).toMatch(/samesite=lax/i)
      expect(line).toMatch(/path=\/auth/i)
      expect(line).not.toMatch(/secure/i)
    }
  })

  test('cookies are Secure where the public address is https', async () => {
    await using https = await startIdentityServer(people.database.url, { publicUrl: 'https://atrium.test' })
    const { address } = application.begin()
    const response = await fetch(`${https.url}${address}`, { redirect: 'manual' })
    expect(response.status).toBe(303)
    const cookies = response.headers.getSetCookie()
    expect(cookies.length).toBeGreaterThan(0)
    for (const line of cookies) expect(line).toMatch(/; secure/i)
  })
})

describe('an authorization request', () => {
  const visit = (more: Record<string, string | undefined>) =>
    openBrowser(server.url).go(application.begin(more).address)

  test.each([
    ['an unknown application', { client_id: 'nobody' }],
    ['an unknown redirect URI', { redirect_uri: 'https://evil.test/' }],
    ['no redirect URI', { redirect_uri: undefined }],
    ['another response mode', { response_mode: 'form_post' }],
    ['a script as redirect URI', { redirect_uri: 'javascript:alert(1)' }],
  ])('with %s gives a page, and never a redirect', async (_what, more) => {
    const { status, text, headers, url } = await visit(more)
    expect(status).toBe(400)
    expect(url.startsWith(server.url)).toBe(true)
    expect(text).toContain('<h1>That did not work</h1>')
    expect(headers.get('content-security-policy')).toContain("default-src 'none'")
  })

  test.each([
    ['without PKCE', { code_challenge: undefined, code_challenge_method: undefined }, 'invalid_request'],
    ['with PKCE plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['for the implicit flow', { response_type: 'token' }, 'unsupported_response_type'],
    ['for another resource', { resource: 'https://else.test' }, 'invalid_target'],
  ])('%s is sent back with an error', async (_what, more, error) => {
    const { url } = await visit(more)
    expect(url.startsWith(CALLBACK)).toBe(true)
    expect(url).toContain(`error=${error}`)
    expect(url).toContain('state=the-state')
  })

  test('does not put what it is given into its pages', async () => {
    const { text } = await visit({ login_hint: '"><script>alert(1)</script>' })
    expect(text).not.toContain('<script')
    expect(text).toContain('&quot;&gt;&lt;script&gt;')
  })
})

describe('the token endpoint', () => {
  async function code() {
    const browser = openBrowser(server.url)
    const { address, verifier } = application.begin()
    const done = await browser.submit(await browser.go(address), { user: 'qx-ada', password: PASSWORD })
    return { verifier, code: new URL(done.url).searchParams.get('code') ?? '' }
  }

  test('refuses a wrong verifier, another application and no code', async () => {
    const given = await code()
    expect(await application.redeem(given.code, 'x'.repeat(43))).toMatchObject({
      status: 400,
      body: { error: 'invalid_grant' },
    })
    const other = openApplication(server.url, 'other-app', CALLBACK)
    expect((await other.redeem(given.code, given.verifier)).status).toBe(400)
    expect((await application.redeem('nonsense\0', given.verifier)).status).toBe(400)
    expect((await application.token({ grant_type: 'client_credentials' })).status).toBe(400)
  })

  test('takes a code once; a second time ends what the first one gave', async () => {
    const given = await code()
    const first = await application.redeem(given.code, given.verifier)
    expect(first.status).toBe(200)
    expect((await application.redeem(given.code, given.verifier)).status).toBe(400)
    expect((await application.refresh(String(first.body.refresh_token))).status).toBe(400)
    expect(await codeOf(String(first.body.access_token))).toBe('token_session_ended')
  })

  test('rotates refresh tokens, and takes a reused one for theft', async () => {
    const first = await application.signIn('qx-ada', PASSWORD)
    const second = (await application.refresh(first.refresh_token)).body as unknown as Tokens
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect(await codeOf(second.access_token)).toBe('accepted')
    const reused = await application.refresh(first.refresh_token)
    expect(reused).toMatchObject({ status: 400, body: { error: 'invalid_grant' } })
    expect((await application.refresh(second.refresh_token)).status).toBe(400)
    expect(await codeOf(second.access_token)).toBe('token_session_ended')
  })

  test('of many who present one refresh token at once, at most one gets through, and it does not last', async () => {
    const first = await application.signIn('qx-ada', PASSWORD)
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => application.refresh(first.refresh_token)),
    )
    const good = answers.filter(({ status }) => status === 200)
    expect(good.length).toBeLessThanOrEqual(1)
    for (const { body } of good) {
      expect((await application.refresh(String(body.refresh_token))).status).toBe(400)
    }
  })

  test('stores no token that the database would give away', async () => {
    const tokens = await application.signIn('qx-ada', PASSWORD)
    const { rows } = await people.database.pool.query('select id, payload::text from identity.oidc_records')
    expect(JSON.stringify(rows)).not.toContain(tokens.refresh_token)
  })

  test('a request cannot name the person or the session', async () => {
    const tokens = await application.signIn('qx-ada', PASSWORD)
    const answer = await application.token({
      grant_type: 'refresh_token',
      refresh_token: tokens.refresh_token,
      sub: 'qx-bob',
      qxId: 'qx-bob',
    })
    expect(await server.identity.verifyToken(String(answer.body.access_token))).toMatchObject({
      qxId: 'qx-ada',
    })
  })
})

test('a browser that goes back and forth between processes and keys stays signed in', async () => {
  await using second = await startIdentityServer(people.database.url, { publicUrl: server.url })
  const browser = openBrowser(server.url)
  const tokens = await application.signIn('qx-ada', PASSWORD, browser)
  await second.identity.rotateKeys(0)
  await expect
    .poll(async () => (await server.call('GET', `${PEOPLE}/connect/jwk_uri`)).body.keys.length)
    .toBe(2)
  const refreshed = (await application.refresh(tokens.refresh_token)).body as unknown as Tokens
  expect(decodeProtectedHeader(refreshed.access_token).kid).not.toBe(
    decodeProtectedHeader(tokens.access_token).kid,
  )
  expect(decodeProtectedHeader(refreshed.id_token).kid).toBe(
    decodeProtectedHeader(refreshed.access_token).kid,
  )
  expect(await second.identity.verifyToken(refreshed.access_token)).toMatchObject({ qxId: 'qx-ada' })
  expect((await browser.go(application.begin({ prompt: 'none' }).address)).url).toContain('code=')
})
