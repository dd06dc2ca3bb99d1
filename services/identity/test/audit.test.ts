import { afterAll, beforeAll, expect, test } from 'vitest'
import type { identityAccess } from '../src/access.ts'
import { openApplication, openBrowser, PEOPLE } from './browser.ts'
import { createTestDatabase, startIdentityServer } from './identity-server.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let server: Awaited<ReturnType<typeof startIdentityServer>>
let application: ReturnType<typeof openApplication>
const PASSWORD = 'analytical engine'
let people = 0

beforeAll(async () => {
  database = await createTestDatabase()
  server = await startIdentityServer(database.url)
  application = openApplication(server.url)
})
afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

interface Person {
  readonly qxId: string
  readonly token: string
  readonly refreshToken: string
  readonly sessionId: string
  readonly browser: ReturnType<typeof openBrowser>
}

async function signedIn(): Promise<Person> {
  const qxId = `qx-audited-${++people}`
  await server.identity.accounts.create({ qxId, name: qxId, password: PASSWORD })
  const browser = openBrowser(server.url)
  const tokens = await application.signIn(qxId, PASSWORD, browser)
  const claims = JSON.parse(Buffer.from(tokens.access_token.split('.')[1] ?? '', 'base64url').toString())
  const { access_token: token, refresh_token: refreshToken } = tokens
  return { qxId, token, refreshToken, sessionId: claims.sid, browser }
}

const form = (path: string, fields: Record<string, string>) =>
  server.call('POST', `${PEOPLE}${path}`, {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(fields).toString(),
  })

/** What each operation of a person does. @returns the id of what it changed */
const walks = {
  signIn: async ({ sessionId }) => sessionId,
  async endSession({ token, sessionId }) {
    await server.call('DELETE', `/auth/v1/sessions/${sessionId}`, { token })
    return sessionId
  },
  async endOtherSessions({ qxId, token }) {
    await application.signIn(qxId, PASSWORD)
    await server.call('DELETE', '/auth/v1/sessions', { token })
    return qxId
  },
  async changePassword({ qxId, token }) {
    const body = { currentPassword: PASSWORD, newPassword: 'difference engine' }
    await server.call('POST', '/auth/v1/password', { token, body })
    return qxId
  },
  async changePasswordOnPage({ qxId: user }) {
    const chosen = 'difference engine'
    await form('/password', { user, current: PASSWORD, new: chosen, again: chosen })
    return user
  },
  async revokeUserToken({ refreshToken }) {
    await form('/token/revoke', { token: refreshToken, client_id: 'atrium-console' })
    return undefined
  },
} satisfies { [name in keyof typeof identityAccess]?: (person: Person) => Promise<string | undefined> }

test.each(Object.entries(walks))('%s leaves an entry with its person', async (operation, walk) => {
  const person = await signedIn()
  const resourceId = await walk(person)
  const found = server.entries.filter(
    ({ act }) => act.operation === operation && act.kind === 'user' && act.qxId === person.qxId,
  )
  expect(found.map(({ change }) => change.resourceId)).toContain(
    resourceId ?? found[0]?.change.resourceId ?? 'an entry',
  )
  for (const { act, change } of found) {
    expect(act).toMatchObject({ address: '127.0.0.1', requestId: expect.stringMatching(/\w/) })
    expect(change.spaceId).toBeNull()
  }
})

test('signing out leaves an entry for the session that ended', async () => {
  const { qxId, sessionId, browser } = await signedIn()
  await browser.submit(await browser.go(`${PEOPLE}/connect/endSession`), { logout: 'yes' })
  expect(server.entries).toContainEqual({
    act: expect.objectContaining({ kind: 'user', qxId, operation: 'confirmSignOut' }),
    change: expect.objectContaining({ resourceType: 'session', resourceId: sessionId }),
  })
})

test('what the platform and operators do to accounts and keys leaves entries', async () => {
  const { accounts } = server.identity
  const before = server.entries.length
  await accounts.create({ qxId: 'qx-operated', name: 'O', password: PASSWORD })
  await accounts.setPassword('qx-operated', 'difference engine')
  await accounts.setDisabled('qx-operated', true)
  const { kid } = await server.identity.rotateKeys(0)
  const entries = server.entries.slice(before)
  expect(entries.map(({ act, change }) => [act.operation, change.resourceId])).toEqual([
    ['createAccount', 'qx-operated'],
    ['setPassword', 'qx-operated'],
    ['setDisabled', 'qx-operated'],
    ['rotateKeys', kid],
  ])
  expect(JSON.stringify(entries)).not.toMatch(/engine|argon2/)
})
