import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { CALLBACK, openApplication, openBrowser, PEOPLE } from './browser.ts'
import { createTestDatabase, eventually, startIdentityServer } from './identity-server.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let server: Awaited<ReturnType<typeof startIdentityServer>>
let second: Awaited<ReturnType<typeof startIdentityServer>>
let application: ReturnType<typeof openApplication>
const PASSWORD = 'analytical engine'
let people = 0

beforeAll(async () => {
  database = await createTestDatabase()
  server = await startIdentityServer(database.url)
  second = await startIdentityServer(database.url, { publicUrl: server.url })
  application = openApplication(server.url)
})

afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

async function newPerson(): Promise<string> {
  const qxId = `qx-${++people}`
  await server.identity.accounts.create({ qxId, name: `Person ${people}`, password: PASSWORD })
  return qxId
}

const codeIn = (process: typeof server, token: string): Promise<string> =>
  process.identity.verifyToken(token).then(
    () => 'accepted',
    (error: { code: string }) => error.code,
  )

/** Both processes know the token as good before it ends. */
const warm = async (...tokens: string[]): Promise<void> => {
  for (const token of tokens) {
    for (const process of [server, second]) expect(await codeIn(process, token)).toBe('accepted')
  }
}
const endsEverywhere = async (token: string, code = 'token_session_ended'): Promise<void> => {
  for (const process of [server, second]) {
    await eventually(async () => (await codeIn(process, token)) === code)
  }
}

describe('sessions', () => {
  test('are listed, the calling one marked', async () => {
    const person = await newPerson()
    const first = await application.signIn(person, PASSWORD)
    const { access_token: token } = await application.signIn(person, PASSWORD)
    const { status, body } = await server.call('GET', '/auth/v1/sessions', { token })
    expect(status).toBe(200)
    expect(body.sessions).toEqual([
      {
        sessionId: expect.any(String),
        clientId: 'atrium-console',
        address: '127.0.0.1',
        userAgent: 'Test Browser 1.0',
        createdAt: expect.stringMatching(/Z$/),
        lastUsedAt: expect.stringMatching(/Z$/),
        expiresAt: expect.stringMatching(/Z$/),
        current: true,
      },
      expect.objectContaining({ current: false }),
    ])
    expect(
      (await server.call('GET', '/auth/v1/sessions', { token: first.access_token })).body.sessions,
    ).toEqual([expect.objectContaining({ current: false }), expect.objectContaining({ current: true })])
  })

  test('that end take their tokens with them, in every process within a second', async () => {
    const person = await newPerson()
    const browser = openBrowser(server.url)
    const [gone, kept] = [
      await application.signIn(person, PASSWORD, browser),
      await application.signIn(person, PASSWORD),
    ]
    await warm(gone.access_token, kept.access_token)
    const { body } = await server.call('GET', '/auth/v1/sessions', { token: gone.access_token })
    const { sessionId } = body.sessions.find(({ current }: { current: boolean }) => current)
    const path = `/auth/v1/sessions/${sessionId}`
    expect((await server.call('DELETE', path, { token: kept.access_token })).status).toBe(204)
    expect(await codeIn(server, gone.access_token)).toBe('token_session_ended')
    await endsEverywhere(gone.access_token)
    expect((await application.refresh(gone.refresh_token)).status).toBe(400)
    // The browser must sign in again as well.
    expect((await browser.go(application.begin({ prompt: 'none' }).address)).url).toContain('login_required')
    await warm(kept.access_token)
    expect((await server.call('DELETE', path, { token: kept.access_token })).status).toBe(404)
    const { rows } = await database.pool.query('select * from identity.oidc_records where session_id = $1', [
      sessionId,
    ])
    expect(rows).toEqual([])
  })

  test('of others are none of mine', async () => {
    const [mine, theirs] = [await newPerson(), await newPerson()]
    const { access_token: token } = await application.signIn(mine, PASSWORD)
    const other = await application.signIn(theirs, PASSWORD)
    const { body } = await server.call('GET', '/auth/v1/sessions', { token: other.access_token })
    const [{ sessionId }] = body.sessions
    for (const id of [sessionId, '01890000-0000-7000-8000-000000000000', 'x', "'--"]) {
      const { status, body: answer } = await server.call(
        'DELETE',
        `/auth/v1/sessions/${encodeURIComponent(id)}`,
        { token },
      )
      expect([status, answer.error]).toEqual([404, 'session_not_found'])
    }
    const long = `/auth/v1/sessions/${'x'.repeat(129)}`
    expect((await server.call('DELETE', long, { token: other.access_token })).status).toBe(400)
    expect(await codeIn(server, other.access_token)).toBe('accepted')
  })

  test('all but the calling one end at once', async () => {
    const person = await newPerson()
    const [a, b, mine] = [
      await application.signIn(person, PASSWORD),
      await application.signIn(person, PASSWORD),
      await application.signIn(person, PASSWORD),
    ]
    await warm(a.access_token, b.access_token)
    expect((await server.call('DELETE', '/auth/v1/sessions', { token: mine.access_token })).status).toBe(204)
    await endsEverywhere(a.access_token)
    await endsEverywhere(b.access_token)
    await warm(mine.access_token)
    expect((await application.refresh(mine.refresh_token)).status).toBe(200)
  })

  test('ask for a person’s token', async () => {
    const { clientId, secret } = await server.identity.clients.create({ name: 'M', status: 'Active' })
    const machine = await server.token(clientId, secret)
    for (const [method, path] of [
      ['GET', '/auth/v1/sessions'],
      ['DELETE', '/auth/v1/sessions'],
      ['DELETE', '/auth/v1/sessions/x'],
      ['POST', '/auth/v1/password'],
    ] as const) {
      const body = method === 'POST' ? { body: { currentPassword: 'x', newPassword: 'long enough' } } : {}
      expect((await server.call(method, path, body)).status).toBe(401)
      expect((await server.call(method, path, { token: 'a.b.c', ...body })).status).toBe(401)
      expect((await server.call(method, path, { token: machine, ...body })).status).toBe(403)
    }
  })

  test('end without announcements, too', async () => {
    const person = await newPerson()
    const { access_token: token } = await application.signIn(person, PASSWORD)
    await warm(token)
    await database.pool.query('update identity.sessions set ended_at = now() where qx_id = $1', [person])
    await endsEverywhere(token)
  })

  test('end when their time is over', async () => {
    const person = await newPerson()
    const tokens = await application.signIn(person, PASSWORD)
    await database.pool.query('update identity.sessions set expires_at = now() where qx_id = $1', [person])
    await endsEverywhere(tokens.access_token)
    expect((await application.refresh(tokens.refresh_token)).status).toBe(400)
  })

  test('are at most fifty a person: the oldest give way', async () => {
    const person = await newPerson()
    const first = await application.signIn(person, PASSWORD)
    await database.pool.query(
      `insert into identity.sessions (session_id, qx_id, client_id, address, user_agent, expires_at, created_at)
       select gen_random_uuid(), $1, 'x', '', '', now() + interval '1 day', now() + n * interval '1 ms'
       from generate_series(1, 50) n`,
      [person],
    )
    const { access_token: token } = await application.signIn(person, PASSWORD)
    expect((await server.call('GET', '/auth/v1/sessions', { token })).body.sessions).toHaveLength(50)
    expect(await codeIn(server, first.access_token)).toBe('token_session_ended')
  })
})

describe('a disabled account', () => {
  test('ends its tokens everywhere within a second, minted ones too, and signs in no more', async () => {
    const person = await newPerson()
    const tokens = await application.signIn(person, PASSWORD)
    const minted = await server.identity.mintUserToken({ qxId: person })
    await warm(tokens.access_token, minted)
    await server.identity.accounts.setDisabled(person, true)
    await endsEverywhere(tokens.access_token, 'token_account_disabled')
    await endsEverywhere(minted, 'token_account_disabled')
    expect((await application.refresh(tokens.refresh_token)).status).toBe(400)
    await expect(application.signIn(person, PASSWORD)).rejects.toThrow('password is wrong')
    await server.identity.accounts.setDisabled(person, false)
    // What was ended stays ended; who is enabled may sign in.
    await endsEverywhere(tokens.access_token)
    expect((await application.signIn(person, PASSWORD)).access_token).toBeTruthy()
    await expect(server.identity.accounts.setDisabled('nobody', true)).rejects.toMatchObject({ status: 404 })
  })
})

describe('POST /v1/password', () => {
  const change = (token: string, currentPassword: string, newPassword: string) =>
    server.call('POST', '/auth/v1/password', { token, body: { currentPassword, newPassword } })

  test('changes it and ends the other sessions', async () => {
    const person = await newPerson()
    const [other, mine] = [
      await application.signIn(person, PASSWORD),
      await application.signIn(person, PASSWORD),
    ]
    const minted = await server.identity.mintUserToken({ qxId: person })
    await warm(other.access_token, minted)
    expect((await change(mine.access_token, PASSWORD, 'difference engine')).status).toBe(204)
    await endsEverywhere(other.access_token)
    await endsEverywhere(minted)
    await warm(mine.access_token)
    await warm(await server.identity.mintUserToken({ qxId: person }))
    await expect(application.signIn(person, PASSWORD)).rejects.toThrow('no code')
    expect((await application.signIn(person, 'difference engine')).access_token).toBeTruthy()
  })

  test('refuses a wrong one, a short one, and slows down who guesses', async () => {
    const person = await newPerson()
    const { access_token: token } = await application.signIn(person, PASSWORD)
    expect((await change(token, PASSWORD, 'short')).status).toBe(400)
    expect((await change(token, PASSWORD, 'x'.repeat(257))).status).toBe(400)
    expect((await server.call('POST', '/auth/v1/password', { token, body: {} })).status).toBe(400)
    for (let i = 0; i < 5; i++) {
      expect((await change(token, 'wrong', 'long enough')).body.error).toBe('wrong_password')
    }
    const throttled = await change(token, PASSWORD, 'long enough')
    expect([throttled.status, throttled.body.error]).toEqual([429, 'slow_down'])
    expect(Number(throttled.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test('of a person without an account gives 404', async () => {
    const token = await server.identity.mintUserToken({ qxId: 'qx-nobody' })
    expect((await change(token, 'whatever', 'long enough')).body.error).toBe('account_not_found')
  })
})

describe('the sign-in page', () => {
  const open = async (browser = openBrowser(server.url)) => {
    const page = await browser.go(application.begin().address)
    return { browser, page }
  }

  test('says the same of a wrong password, an unknown and a disabled account', async () => {
    const [person, disabled] = [await newPerson(), await newPerson()]
    await server.identity.accounts.setDisabled(disabled, true)
    const { browser, page } = await open()
    for (const [user, password] of [
      [person, 'wrong'],
      ['nobody', PASSWORD],
      [disabled, PASSWORD],
      ['a\0b', PASSWORD],
      ['', ''],
      [person, 'x'.repeat(5000)],
    ] as const) {
      const answer = await browser.submit(page, { user, password })
      expect(answer.status).toBe(401)
      expect(answer.text).toContain('The user name or the password is wrong')
      expect(answer.text).not.toContain(PASSWORD)
    }
  })

  test('slows down who guesses one account, and nobody else', async () => {
    const [person, bystander] = [await newPerson(), await newPerson()]
    const { browser, page } = await open()
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, n) => browser.submit(page, { user: person, password: `guess ${n}` })),
    )
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([401, 401, 401, 401, 401, ...Array(7).fill(429)])
    const throttled = await browser.submit(page, { user: person, password: PASSWORD })
    expect(throttled.status).toBe(429)
    expect(throttled.text).toMatch(/Too many attempts. Try again in \d+ (seconds|minutes)/)
    expect(Number(throttled.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await application.signIn(bystander, PASSWORD)).access_token).toBeTruthy()
  })

  test('counts attempts, and names the session’s address, by the proxy’s word where it is trusted', async () => {
    const person = await newPerson()
    await using behind = await startIdentityServer(database.url, { trustedProxies: ['127.0.0.1'] })
    const app = openApplication(behind.url)
    const browser = openBrowser(behind.url)
    const page = await browser.go(app.begin().address)
    const from = (address: string) => ({ 'x-forwarded-for': address })
    for (let i = 0; i < 5; i++) {
      await browser.submit(page, { user: person, password: 'wrong' }, from('192.0.2.1'))
    }
    const good = { user: person, password: PASSWORD }
    expect((await browser.submit(page, good, from('192.0.2.1'))).status).toBe(429)
    expect((await browser.submit(page, good, from('192.0.2.2'))).url).toContain('?code=')
    const { rows } = await database.pool.query('select address from identity.sessions where qx_id = $1', [
      person,
    ])
    expect(rows).toEqual([{ address: '192.0.2.2' }])
  })

  test('takes only its own form', async () => {
    const person = await newPerson()
    const { browser, page } = await open()
    const { page: otherPage } = await open()
    const good = { user: person, password: PASSWORD }
    const csrfOfOther = /name="csrf" value="([^"]+)"/.exec(otherPage.text)?.[1] ?? ''
    for (const csrf of ['', 'forged', csrfOfOther]) {
      expect((await browser.submit(page, { ...good, csrf })).status).toBe(400)
    }
    expect((await browser.submit(page, good, { 'sec-fetch-site': 'cross-site' })).status).toBe(400)
    // The form of another browser's sign-in is of no use here, nor is this one there.
    expect((await browser.submit(otherPage, good)).status).toBe(400)
    expect((await openBrowser(server.url).submit(page, good)).status).toBe(400)
    const done = await browser.submit(page, good, { 'sec-fetch-site': 'same-origin' })
    expect(done.url.startsWith(`${CALLBACK}?code=`)).toBe(true)
  })

  test('refuses what is no form, and what is too much', async () => {
    const { browser, page } = await open()
    const path = new URL(page.url).pathname
    const json = await server.call('POST', path, { body: { user: 'x' } })
    expect([json.status, json.body]).toEqual([400, expect.stringContaining('That did not work')])
    const huge = await browser.submit(page, { user: 'x', password: 'y'.repeat(20_000) })
    expect(huge.status).toBe(413)
  })

  test('is sent with a policy that allows no script and no foreign form target', async () => {
    const { page } = await open()
    const policy = page.headers.get('content-security-policy') ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toMatch(/style-src 'sha256-[\w+/=]+';/)
    expect(policy).toContain("form-action 'self' http://127.0.0.1:9;")
    expect(page.headers.get('cache-control')).toBe('no-store')
    expect(page.text).not.toMatch(/<script|onclick|style=|https?:\/\/(?!127)/)
  })

  test('logs no password', async () => {
    const person = await newPerson()
    await application.signIn(person, PASSWORD)
    const { browser, page } = await open()
    await browser.submit(page, { user: person, password: 'a wrong secret' })
    expect(server.lines.join('')).not.toMatch(/analytical engine|a wrong secret/)
  })
})

describe('the password page', () => {
  const fields = { user: '', current: PASSWORD, new: 'difference engine', again: 'difference engine' }

  test('changes it and ends every session', async () => {
    const person = await newPerson()
    const tokens = await application.signIn(person, PASSWORD)
    const browser = openBrowser(server.url)
    const page = await browser.go(`${PEOPLE}/password`)
    for (const [change, status, message] of [
      [{ current: 'wrong' }, 401, 'password is wrong'],
      [{ new: 'short', again: 'short' }, 400, 'must have 8 to 256 characters'],
      [{ again: 'another engine' }, 400, 'not the same both times'],
    ] as const) {
      const answer = await browser.submit(page, { ...fields, user: person, ...change })
      expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(message)])
    }
    const done = await browser.submit(page, { ...fields, user: person })
    expect([done.status, done.text]).toEqual([200, expect.stringContaining('<h1>Password changed</h1>')])
    await endsEverywhere(tokens.access_token)
    expect((await application.signIn(person, 'difference engine')).access_token).toBeTruthy()
  })

  test('is throttled like signing in', async () => {
    const person = await newPerson()
    const browser = openBrowser(server.url)
    const page = await browser.go(`${PEOPLE}/password`)
    for (let i = 0; i < 5; i++) {
      expect((await browser.submit(page, { ...fields, user: person, current: 'wrong' })).status).toBe(401)
    }
    expect((await browser.submit(page, { ...fields, user: person })).status).toBe(429)
  })
})

test('the nightly work removes what is over', async () => {
  const person = await newPerson()
  await application.signIn(person, PASSWORD)
  await database.pool.query("update identity.oidc_records set expires_at = now() - interval '1 second'")
  await database.pool.query(
    "update identity.sessions set ended_at = now() - interval '31 days', expires_at = now()",
  )
  await database.pool.query("insert into identity.revoked_tokens values ('old', now() - interval '2 hours')")
  const job = server.identity.jobs.find(({ name }) => name === 'identity.delete-expired')
  await job?.run({}, new AbortController().signal)
  for (const table of ['oidc_records', 'sessions', 'revoked_tokens']) {
    expect((await database.pool.query(`select from identity.${table}`)).rowCount, table).toBe(0)
  }
})
