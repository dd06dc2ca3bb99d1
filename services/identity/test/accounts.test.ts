import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openApplication, PEOPLE } from './browser.ts'

let platform: TestPlatform
let application: ReturnType<typeof openApplication>
const PASSWORD = 'a long enough phrase'
const PATH = '/auth/v1/admin/accounts'

beforeAll(async () => {
  platform = await startTestPlatform()
  application = openApplication(platform.url.replace('127.0.0.1', 'localhost'))
})
afterAll(() => platform.close())

const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  platform.call(method, `${PATH}${path}`, { token: platform.superuser.token, body, headers })
const create = (qxId: string, more: object = {}) =>
  call('POST', '', { qxId, name: `Name of ${qxId}`, ...more })
const tokenOf = (link: string): string => new URL(link).searchParams.get('token') ?? ''
const page = (method: string, name: string, fields: Record<string, string>) =>
  method === 'GET'
    ? platform.call('GET', `${PEOPLE}/${name}?${new URLSearchParams(fields)}`)
    : platform.call('POST', `${PEOPLE}/${name}`, {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(fields).toString(),
      })

/** An account whose person has chosen a password. */
async function accountWithPassword(qxId: string) {
  const { body } = await create(qxId)
  const token = tokenOf(body.passwordLink)
  expect((await page('POST', 'choose-password', { token, new: PASSWORD, again: PASSWORD })).status).toBe(200)
  return { token }
}

describe('accounts of people', () => {
  test('are made by a superuser; the person chooses the first password by a link, once', async () => {
    const made = await create('qx-new', { mailAddress: 'new@example.test' })
    expect([made.status, made.headers.get('etag')]).toEqual([201, '"1"'])
    expect(made.body).toMatchObject({
      qxId: 'qx-new',
      name: 'Name of qx-new',
      mailAddress: 'new@example.test',
      disabled: false,
      delivery: 'answer',
      passwordLink: expect.stringMatching(/\/people\/choose-password\?token=[\w-]{43}$/),
    })
    expect(JSON.stringify(made.body)).not.toContain('argon2')
    const token = tokenOf(made.body.passwordLink)
    const shown = await page('GET', 'choose-password', { token })
    expect([shown.status, shown.body]).toEqual([200, expect.stringContaining('for qx-new')])
    const choose = (first: string, again = first) =>
      page('POST', 'choose-password', { token, new: first, again })
    expect([(await choose('short')).status, (await choose(PASSWORD, 'another one')).status]).toEqual([
      400, 400,
    ])
    const answers = await Promise.all([choose(PASSWORD), choose(PASSWORD)])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410])
    expect((await page('GET', 'choose-password', { token })).status).toBe(410)
    expect((await application.signIn('qx-new', PASSWORD)).access_token).toBeTruthy()
    const entry = `/portal/v1/admin/audit?resourceId=qx-new`
    const { body: log } = await platform.call('GET', entry, { token: platform.superuser.token })
    expect(log.data.map(({ operation }: { operation: string }) => operation)).toEqual(
      expect.arrayContaining(['createAccount', 'choosePassword']),
    )
    expect(JSON.stringify(log)).not.toContain(token)
  })

  test('are read, searched, sorted and listed a page at a time', async () => {
    for (const qxId of ['qx-list-b', 'qx-list-a', 'qx-lis_c']) await create(qxId)
    const list = async (query: string) => (await call('GET', `?${query}`)).body
    const ids = (body: { data: { qxId: string }[] }) => body.data.map(({ qxId }) => qxId)
    expect(ids(await list('search=QX-LIST'))).toEqual(['qx-list-b', 'qx-list-a'])
    expect(ids(await list('search=lis_c'))).toEqual(['qx-lis_c'])
    expect(ids(await list('search=qx-list&sortBy=qxId&sortOrder=desc&limit=1&page=2'))).toEqual(['qx-list-a'])
    expect((await list('search=qx-list&limit=1&page=9')).data).toEqual([])
    expect((await list('search=qx-list&limit=1')).pagination).toMatchObject({
      totalRecords: 2,
      totalPages: 2,
    })
    expect((await call('GET', '?sortBy=passwordHash')).status).toBe(400)
    expect((await call('GET', '/qx-list-a')).body).toMatchObject({ qxId: 'qx-list-a' })
    expect((await call('GET', '/nobody')).status).toBe(404)
  })

  test('are changed at the version that was read; disabling ends everything, and can be taken back', async () => {
    await accountWithPassword('qx-changed')
    const { access_token: token } = await application.signIn('qx-changed', PASSWORD)
    const status = async () => (await platform.call('GET', '/auth/v1/sessions', { token })).status
    expect(await status()).toBe(200)
    const read = await call('GET', '/qx-changed')
    const change = { name: 'Other', mailAddress: 'o@example.test', disabled: true }
    const match = { 'if-match': read.headers.get('etag') ?? '' }
    const changed = await call('PATCH', '/qx-changed', change, match)
    expect([changed.status, changed.body]).toEqual([200, expect.objectContaining(change)])
    expect((await call('PATCH', '/qx-changed', { name: 'Late' }, match)).status).toBe(412)
    await expect.poll(status, { timeout: 10_000, interval: 20 }).toBe(401)
    await expect(application.signIn('qx-changed', PASSWORD)).rejects.toThrow()
    expect((await call('PATCH', '/qx-changed', { disabled: false })).body.disabled).toBe(false)
    expect((await application.signIn('qx-changed', PASSWORD)).access_token).toBeTruthy()
    expect((await call('PATCH', '/nobody', { name: 'x' })).status).toBe(404)
    for (const name of ['', ' ']) expect((await call('PATCH', '/qx-changed', { name })).status).toBe(400)
  })

  test('what is sent is refused when it is too long, or no JSON', async () => {
    await create('qx-long')
    const long = { name: 'x'.repeat(2 * 1024 * 1024) }
    for (const [method, path] of [
      ['POST', ''],
      ['PATCH', '/qx-long'],
      ['POST', '/qx-long:reset-password'],
    ] as const) {
      expect((await call(method, path, long)).status, `${method} ${path}`).toBe(413)
      expect((await call(method, path, '{')).status, `${method} ${path}`).toBe(400)
    }
    const { token } = platform.superuser
    expect((await platform.call('DELETE', '/auth/v1/sessions/%00', { token })).status).toBe(404)
    for (const name of ['choose-password', 'invitation']) {
      expect((await page('POST', name, { token: 'x'.repeat(2 * 1024 * 1024) })).status, name).toBe(413)
      expect((await page('GET', name, { token: 'x'.repeat(401) })).status, name).toBe(400)
    }
  })

  test('nobody disables their own, for nobody may be left who enables it', async () => {
    const own = await call('PATCH', `/${platform.superuser.qxId}`, { disabled: true })
    expect([own.status, own.body.error_description ?? own.body.error.message]).toEqual([
      409,
      'Your own account can only be disabled by another superuser',
    ])
    expect((await call('GET', `/${platform.superuser.qxId}`)).body.disabled).toBe(false)
  })

  test('get another password by a link, which ends their sessions and the links before it', async () => {
    await accountWithPassword('qx-reset')
    const { access_token: token } = await application.signIn('qx-reset', PASSWORD)
    const first = await call('POST', '/qx-reset:reset-password')
    const second = await call('POST', '/qx-reset:reset-password')
    expect(second.status).toBe(200)
    // The old password works until the new one is chosen.
    expect((await application.signIn('qx-reset', PASSWORD)).access_token).toBeTruthy()
    const choose = (link: string) =>
      page('POST', 'choose-password', { token: tokenOf(link), new: `${PASSWORD}!`, again: `${PASSWORD}!` })
    expect((await choose(first.body.passwordLink)).status).toBe(410)
    expect((await choose(second.body.passwordLink)).status).toBe(200)
    const status = async () => (await platform.call('GET', '/auth/v1/sessions', { token })).status
    await expect.poll(status, { timeout: 10_000, interval: 20 }).toBe(401)
    expect((await application.signIn('qx-reset', `${PASSWORD}!`)).access_token).toBeTruthy()
    expect((await call('POST', '/nobody:reset-password')).status).toBe(404)
  })

  test('links expire', async () => {
    const { body } = await create('qx-expired')
    await platform.pool.query(
      `update identity.password_links set expires_at = now() where qx_id = 'qx-expired'`,
    )
    const token = tokenOf(body.passwordLink)
    expect((await page('GET', 'choose-password', { token })).status).toBe(410)
    const late = await page('POST', 'choose-password', { token, new: PASSWORD, again: PASSWORD })
    expect(late.status).toBe(410)
  })

  test.each([
    [{ qxId: 'a b' }, 400],
    [{ qxId: 'x'.repeat(129) }, 400],
    [{ qxId: 'a\u0082b' }, 400],
    [{ qxId: 'a/b' }, 400],
    [{ qxId: 'a\ufeffb' }, 400],
    [{ name: '' }, 400],
    [{ name: '\u0007' }, 400],
    [{ name: '😀'.repeat(201) }, 400],
    [{ mailAddress: 'nobody' }, 400],
    [{ mailAddress: 'some <one@example.test>' }, 400],
    [{ mailAddress: `${'x'.repeat(65)}@example.test` }, 400],
    [{ qxId: 'qx-admin' }, 409],
    [{ qxId: 'test-superuser-client' }, 409],
  ])('are refused with %j', async (more, status) => {
    expect((await create('qx-refused', more)).status).toBe(status)
  })

  test('take whatever the contract lets pass', async () => {
    const odd = { qxId: '😀'.repeat(128), name: '😀'.repeat(200), mailAddress: "o'hara+x@b\u00fccher.test" }
    const { status, body } = await create('qx-odd', odd)
    expect(status).toBe(201)
    expect(body).toMatchObject(odd)
  })

  test('are superusers’ alone, of either kind', async () => {
    const { ownerToken, apiKey } = await platform.space()
    const as = async (token?: string) =>
      (await platform.call('GET', PATH, token === undefined ? {} : { token })).status
    expect(await as()).toBe(401)
    expect(await as(ownerToken)).toBe(403)
    expect(await as(apiKey)).toBe(401)
    expect(await as(platform.superuserClient.token)).toBe(200)
  })
})

describe('an invited person without an account', () => {
  async function invitation(mailed = false) {
    const { spaceId } = await platform.space()
    const body = { mailAddress: 'invited@example.test', role: 'member' }
    const token = platform.superuser.token
    const made = await platform.call('POST', `/portal/v1/spaces/${spaceId}/invitations`, { token, body })
    if (mailed)
      await platform.pool.query(`update portal.invitations set delivery = 'mail' where space_id = $1`, [
        spaceId,
      ])
    return { spaceId, token: made.body.token as string }
  }
  const join = (token: string, user: string, password = PASSWORD) =>
    page('POST', 'invitation', { token, user, name: 'In Vited', new: password, again: password })
  const person = async (spaceId: string, qxId: string) => {
    const path = `/portal/v1/spaces/${spaceId}/users?search=${qxId}`
    return (await platform.call('GET', path, { token: platform.superuser.token })).body.data[0]
  }

  test('chooses a name and the first password on a page, once, and is a member', async () => {
    const { spaceId, token } = await invitation(true)
    const shown = await page('GET', 'invitation', { token })
    expect([shown.status, shown.body]).toEqual([200, expect.stringContaining('Join space')])
    expect((await join(token, 'qx-invited', 'short')).status).toBe(400)
    const answers = await Promise.all([join(token, 'qx-invited'), join(token, 'qx-invited')])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410])
    expect(await person(spaceId, 'qx-invited')).toMatchObject({
      name: 'In Vited',
      mailAddress: 'invited@example.test',
      role: 'member',
    })
    expect((await call('GET', '/qx-invited')).body.mailAddress).toBe('invited@example.test')
    expect((await application.signIn('qx-invited', PASSWORD)).access_token).toBeTruthy()
    expect((await page('GET', 'invitation', { token })).status).toBe(410)
    expect((await page('GET', 'invitation', { token: 'made-up' })).status).toBe(400)
  })

  test('proves no address by a token that was not mailed', async () => {
    const { spaceId, token } = await invitation()
    expect((await join(token, 'qx-handed-over')).status).toBe(200)
    expect((await person(spaceId, 'qx-handed-over')).mailAddress).toBe('')
    expect((await call('GET', '/qx-handed-over')).body.mailAddress).toBe('')
  })

  test('takes nobody’s name: not of an account, a person, a superuser or a client', async () => {
    await platform.call('POST', '/portal/v1/admin/superuser', {
      token: platform.superuser.token,
      body: { qNumber: 'qx-boss', name: 'Boss', mailAddress: 'boss@example.test' },
    })
    await create('qx-taken')
    const { token } = await invitation(true)
    for (const user of ['qx-admin', 'qx-taken', 'qx-boss', 'test-superuser-client']) {
      const refused = await join(token, user)
      expect([refused.status, user], refused.body).toEqual([409, user])
    }
    expect((await join(token, 'with space')).status).toBe(400)
    // What was refused left nothing behind.
    expect((await call('GET', '/qx-boss')).status).toBe(404)
    expect((await join(token, 'qx-free')).status).toBe(200)
  })

  test('may take the record that was made for the very address of the mail', async () => {
    const { spaceId, token } = await invitation(true)
    const other = await platform.space()
    await platform.call('POST', `/portal/v1/spaces/${other.spaceId}/users`, {
      token: platform.superuser.token,
      body: { qNumber: 'qx-known', name: 'K', mailAddress: 'Invited@example.test', role: 'member' },
    })
    expect((await join(token, 'qx-known')).status).toBe(200)
    expect(await person(spaceId, 'qx-known')).toMatchObject({ role: 'member' })
  })
})
