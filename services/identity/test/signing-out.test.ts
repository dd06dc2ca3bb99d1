import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openBrowser, PEOPLE } from './browser.ts'
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

describe('revocation', () => {
  const revoke = async (token: string, clientId = 'atrium-console'): Promise<number> =>
    (
      await server.call('POST', `${PEOPLE}/token/revoke`, {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({ token, client_id: clientId }).toString(),
      })
    ).status

  test.each(['refresh_token', 'access_token'] as const)(
    'of the %s ends the application’s grant',
    async (kind) => {
      const browser = openBrowser(server.url)
      const tokens = await application.signIn('qx-ada', PASSWORD, browser)
      expect(await revoke(tokens[kind])).toBe(200)
      expect((await application.refresh(tokens.refresh_token)).status).toBe(400)
      await expect.poll(() => codeOf(tokens.access_token), { timeout: 10_000 }).toBe('token_session_ended')
      // The person is still signed in: the next application finds the session.
      expect((await browser.go(application.begin({ prompt: 'none' }).address)).url).toContain('code=')
    },
  )

  test('by another application does nothing, and says nothing', async () => {
    const tokens = await application.signIn('qx-ada', PASSWORD)
    for (const token of [tokens.refresh_token, tokens.access_token, 'nonsense', 'a.b.c']) {
      expect(await revoke(token, 'other-app')).toBe(200)
    }
    expect(await codeOf(tokens.access_token)).toBe('accepted')
    expect((await application.refresh(tokens.refresh_token)).status).toBe(200)
  })
})

describe('signing out', () => {
  const address = (query: Record<string, string>) =>
    `${PEOPLE}/connect/endSession?${new URLSearchParams(query)}`

  test('with the person’s id token goes straight back to the application', async () => {
    const browser = openBrowser(server.url)
    const tokens = await application.signIn('qx-ada', PASSWORD, browser)
    const gone = await browser.go(
      address({
        id_token_hint: tokens.id_token,
        post_logout_redirect_uri: 'http://127.0.0.1:9/bye',
        state: 'x1',
      }),
    )
    expect(gone.url).toBe('http://127.0.0.1:9/bye?state=x1')
    expect(await codeOf(tokens.access_token)).toBe('token_session_ended')
    expect((await application.refresh(tokens.refresh_token)).status).toBe(400)
    expect((await browser.go(application.begin().address)).text).toContain('<h1>Sign in</h1>')
  })

  test('without one asks first', async () => {
    const browser = openBrowser(server.url)
    const tokens = await application.signIn('qx-ada', PASSWORD, browser)
    const page = await browser.go(address({}))
    expect(page.text).toContain('<h1>Sign out?</h1>')
    expect(await codeOf(tokens.access_token)).toBe('accepted')
    const forged = await browser.submit(page, { xsrf: 'forged', logout: 'yes' })
    expect(forged.status).toBe(400)
    expect(await codeOf(tokens.access_token)).toBe('accepted')
    const done = await browser.submit(await browser.go(address({})), { logout: 'yes' })
    expect(done.text).toContain('You are signed out')
    expect(await codeOf(tokens.access_token)).toBe('token_session_ended')
  })

  test('with somebody else’s id token asks first, too', async () => {
    const mine = openBrowser(server.url)
    await application.signIn('qx-ada', PASSWORD, mine)
    await server.identity.accounts.create({ qxId: 'qx-eve', name: 'Eve', password: PASSWORD })
    const eve = await application.signIn('qx-eve', PASSWORD)
    expect((await mine.go(address({ id_token_hint: eve.id_token }))).text).toContain('<h1>Sign out?</h1>')
  })

  test('leads to no foreign address', async () => {
    const browser = openBrowser(server.url)
    const tokens = await application.signIn('qx-ada', PASSWORD, browser)
    const gone = await browser.go(
      address({ id_token_hint: tokens.id_token, post_logout_redirect_uri: 'https://evil.test/' }),
    )
    expect(gone.status).toBe(400)
    expect(gone.url.startsWith(server.url)).toBe(true)
  })
})
