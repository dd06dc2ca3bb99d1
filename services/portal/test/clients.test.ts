import { setTimeout as delay } from 'node:timers/promises'
import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cast, createCast, UNKNOWN_ID } from './cast.ts'
import { startMailServer } from './mail-server.ts'

let platform: TestPlatform
let cast: Cast
beforeAll(async () => {
  platform = await startTestPlatform()
  cast = await createCast(platform)
})
afterAll(() => platform.close())

const PATH = '/portal/v1/admin/clients'
type Headers = Record<string, string>
const call = (method: string, path: string, body?: unknown, headers: Headers = {}) =>
  platform.call(method, `${PATH}${path}`, { token: cast.tokens.superuser, body, headers })
const create = (more: object = {}) => call('POST', '', { name: 'robot', environment: 'int', ...more })

async function activeClient(more: object = {}) {
  const { body } = await create(more)
  const approved = await call('POST', `/${body.clientId}:approve`)
  return { clientId: body.clientId as string, secret: approved.body.clientSecret as string }
}

const tokenStatus = (clientId: string, clientSecret: string) =>
  platform.clientToken(clientId, clientSecret).then(
    () => 200,
    () => 401,
  )

describe('registration', () => {
  test('is In Progress, without a secret and without any right', async () => {
    const grants = [{ spaceId: cast.home.spaceId, role: 'member' }]
    const answer = await create({
      grants,
      tokenLifetimeSeconds: 600,
      mailAddress: 'ops@example.test',
      status: 'Active',
      clientSecret: 'mine',
    })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('etag')).toBe('"1"')
    const administrator = { qxId: platform.superuser.qxId, name: 'Administrator' }
    expect(answer.body).toEqual({
      clientId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      name: 'robot',
      environment: 'int',
      status: 'In Progress',
      tokenLifetimeSeconds: 600,
      grants,
      superuser: false,
      mailAddress: 'ops@example.test',
      createdBy: administrator,
      modifiedBy: administrator,
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: expect.stringMatching(/Z$/),
    })
    const read = await call('GET', `/${answer.body.clientId}`)
    expect([read.status, read.headers.get('etag'), read.body]).toEqual([200, '"1"', answer.body])
    expect((await create()).body).toMatchObject({ tokenLifetimeSeconds: 3600, grants: [] })
  })

  test.each([
    [{ name: '' }, 'body.name'],
    [{ environment: 'dev' }, 'body.environment'],
    [{ tokenLifetimeSeconds: 59 }, 'body.tokenLifetimeSeconds'],
    [{ tokenLifetimeSeconds: 86_401 }, 'body.tokenLifetimeSeconds'],
    [{ mailAddress: 'nobody' }, 'body.mailAddress'],
    [{ superuser: 'yes' }, 'body.superuser'],
    [{ clientId: 'with space' }, 'body.clientId'],
    [{ clientId: 'a/b' }, 'body.clientId'],
    [{ grants: [{ spaceId: 'nowhere', role: 'member' }] }, 'body.grants.0.spaceId'],
    [{ grants: [{ spaceId: UNKNOWN_ID, role: 'king' }] }, 'body.grants.0.role'],
  ])('refuses %j', async (more, field) => {
    const answer = await create(more)
    expect(answer.status).toBe(400)
    expect(answer.body.error.message).toContain(field)
  })

  test('names the grant whose space is unknown, or named twice, and leaves nothing behind', async () => {
    const known = { spaceId: cast.home.spaceId, role: 'member' }
    const unknown = await create({ clientId: 'half', grants: [known, { ...known, spaceId: UNKNOWN_ID }] })
    expect(unknown.status).toBe(400)
    expect(unknown.body.error.message).toContain('body.grants.1.spaceId')
    const upper = { spaceId: cast.home.spaceId.toUpperCase(), role: 'owner' }
    const twice = await create({ clientId: 'half', grants: [known, upper] })
    expect(twice.body.error.message).toContain('names the same space as body.grants.0')
    expect((await call('GET', '/half')).status).toBe(404)
    expect((await create({ clientId: 'half' })).status).toBe(201)
    expect((await create({ clientId: 'half' })).status).toBe(409)
  })
})

describe('approval', () => {
  test('hands out the secret once; the client has the roles of its grants', async () => {
    const { body } = await create({
      grants: [{ spaceId: cast.home.spaceId, role: 'owner' }],
      tokenLifetimeSeconds: 120,
    })
    const approved = await call('POST', `/${body.clientId}:approve`)
    expect(approved.status).toBe(200)
    expect(approved.body).toMatchObject({
      status: 'Active',
      delivery: 'answer',
      clientSecret: expect.stringMatching(/^[\w-]{43}$/),
      approvedAt: expect.stringMatching(/Z$/),
    })
    const { clientSecret } = approved.body
    expect(JSON.stringify((await call('GET', `/${body.clientId}`)).body)).not.toContain(clientSecret)
    const token = await platform.clientToken(body.clientId, clientSecret)
    const payload = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    expect(payload.exp - payload.iat).toBe(120)
    const space = (spaceId: string) => platform.call('GET', `/portal/v1/spaces/${spaceId}`, { token })
    expect((await space(cast.home.spaceId)).body.user).toEqual({ role: 'owner', superuser: false })
    expect((await space(cast.other.spaceId)).status).toBe(403)
    expect((await call('POST', `/${body.clientId}:approve`)).status).toBe(409)
  })

  test('404, 412', async () => {
    expect((await call('POST', '/nobody:approve')).status).toBe(404)
    const { body } = await create()
    const headers = { 'if-match': '"9"' }
    expect((await call('POST', `/${body.clientId}:approve`, undefined, headers)).status).toBe(412)
  })

  test('is the only way to become Active at first; a registration that was disabled stays so', async () => {
    const { body } = await create()
    expect((await call('PATCH', `/${body.clientId}`, { status: 'Active' })).status).toBe(409)
    expect((await call('POST', `/${body.clientId}:rotate-secret`)).status).toBe(409)
    expect((await call('PATCH', `/${body.clientId}`, { status: 'Disabled' })).status).toBe(200)
    expect((await call('PATCH', `/${body.clientId}`, { status: 'Active' })).status).toBe(409)
    expect((await call('POST', `/${body.clientId}:approve`)).status).toBe(409)
    expect((await call('PATCH', `/${body.clientId}`, { status: 'In Progress' })).status).toBe(400)
  })
})

describe('PATCH', () => {
  test('replaces grants, and its rights follow at once', async () => {
    const { clientId, secret } = await activeClient({
      grants: [{ spaceId: cast.home.spaceId, role: 'member' }],
    })
    const token = await platform.clientToken(clientId, secret)
    const status = async (spaceId: string) =>
      (await platform.call('GET', `/portal/v1/spaces/${spaceId}`, { token })).status
    expect([await status(cast.home.spaceId), await status(cast.other.spaceId)]).toEqual([200, 403])
    const grants = [{ spaceId: cast.other.spaceId, role: 'owner' }]
    const patched = await call('PATCH', `/${clientId}`, { grants, name: 'renamed', environment: 'prod' })
    expect(patched.body).toMatchObject({ grants, name: 'renamed', environment: 'prod', status: 'Active' })
    expect([await status(cast.home.spaceId), await status(cast.other.spaceId)]).toEqual([403, 200])
    const superuser = await call('PATCH', `/${clientId}`, { superuser: true, grants: [] })
    expect(superuser.body).toMatchObject({ superuser: true, grants: [] })
    expect(await status(cast.home.spaceId)).toBe(200)
    const wrong = await call('PATCH', `/${clientId}`, { grants: [{ spaceId: UNKNOWN_ID, role: 'owner' }] })
    expect([wrong.status, wrong.body.error.message]).toEqual([400, expect.stringContaining('body.grants.0')])
  })

  test('a disabled client is refused within a second; it can come back, but the tokens it had do not', async () => {
    const { clientId, secret } = await activeClient()
    const token = await platform.clientToken(clientId, secret)
    const status = async () => (await platform.call('GET', '/portal/v1/spaces', { token })).status
    expect(await status()).toBe(200)
    expect((await call('PATCH', `/${clientId}`, { status: 'Disabled' })).body.status).toBe('Disabled')
    await expect.poll(status, { timeout: 10_000, interval: 20 }).toBe(401)
    expect(await tokenStatus(clientId, secret)).toBe(401)
    expect((await call('PATCH', `/${clientId}`, { status: 'Active' })).status).toBe(200)
    await expect.poll(() => tokenStatus(clientId, secret)).toBe(200)
    expect(await status()).toBe(401)
    // Tokens name the second of their issue: one of the second of the disabling is dead too.
    const next = async () => {
      const fresh = await platform.clientToken(clientId, secret)
      return (await platform.call('GET', '/portal/v1/spaces', { token: fresh })).status
    }
    await expect.poll(next, { timeout: 10_000, interval: 100 }).toBe(200)
  })

  test('the contact can be taken away; 404, 412, and two at once', async () => {
    const { body } = await create({ mailAddress: 'a@example.test' })
    const patched = await call('PATCH', `/${body.clientId}`, { mailAddress: null, tokenLifetimeSeconds: 90 })
    expect(patched.body).not.toHaveProperty('mailAddress')
    expect(patched.body.tokenLifetimeSeconds).toBe(90)
    expect((await call('PATCH', '/nobody', {})).status).toBe(404)
    const headers = { 'if-match': patched.headers.get('etag') ?? '' }
    const racing = ['a', 'b'].map((name) => call('PATCH', `/${body.clientId}`, { name }, headers))
    expect((await Promise.all(racing)).map(({ status }) => status).sort()).toEqual([200, 412])
  })
})

describe('rotation of the secret', () => {
  test('keeps the old one for the overlap', async () => {
    const { clientId, secret } = await activeClient()
    const rotated = await call('POST', `/${clientId}:rotate-secret`, { overlapSeconds: 1 })
    expect(rotated.body).toMatchObject({ delivery: 'answer', status: 'Active' })
    const { clientSecret } = rotated.body
    expect([await tokenStatus(clientId, secret), await tokenStatus(clientId, clientSecret)]).toEqual([
      200, 200,
    ])
    await delay(1500)
    await expect.poll(() => tokenStatus(clientId, secret), { timeout: 10_000 }).toBe(401)
    expect(await tokenStatus(clientId, clientSecret)).toBe(200)
  })

  test('400, 404, 412', async () => {
    const { clientId } = await activeClient()
    for (const overlapSeconds of [-1, 604_801, 0.5, 'long']) {
      expect((await call('POST', `/${clientId}:rotate-secret`, { overlapSeconds })).status).toBe(400)
    }
    expect((await call('POST', '/nobody:rotate-secret')).status).toBe(404)
    const headers = { 'if-match': '"99"' }
    expect((await call('POST', `/${clientId}:rotate-secret`, {}, headers)).status).toBe(412)
  })
})

test('DELETE removes it with its grants; its tokens are refused within a second', async () => {
  const { clientId, secret } = await activeClient({ grants: [{ spaceId: cast.home.spaceId, role: 'owner' }] })
  const token = await platform.clientToken(clientId, secret)
  expect((await call('DELETE', `/${clientId}`, undefined, { 'if-match': '"99"' })).status).toBe(412)
  expect((await call('DELETE', `/${clientId}`)).status).toBe(204)
  const status = async () => (await platform.call('GET', '/portal/v1/spaces', { token })).status
  await expect.poll(status, { timeout: 10_000, interval: 20 }).toBe(401)
  expect((await call('DELETE', `/${clientId}`)).status).toBe(404)
  const left = await platform.pool.query('SELECT 1 FROM portal.client_grants WHERE client_id = $1', [
    clientId,
  ])
  expect(left.rows).toEqual([])
})

test('the list is filtered, searched, sorted and paged', async () => {
  const names = async (query: string) =>
    ((await call('GET', `?${query}`)).body.data as { name: string }[]).map(({ name }) => name)
  await create({ name: 'Listed B', environment: 'prod' })
  await create({ name: 'listed a' })
  await create({ name: 'LISTED C' })
  expect(await names('search=listed')).toEqual(['Listed B', 'listed a', 'LISTED C'])
  expect(await names('search=listed&sortBy=name&sortOrder=desc')).toEqual([
    'LISTED C',
    'Listed B',
    'listed a',
  ])
  expect(await names('search=listed&environment=prod')).toEqual(['Listed B'])
  expect(await names('search=listed&status=Active')).toEqual([])
  expect(await names('search=listed&limit=1&page=2')).toEqual(['listed a'])
  const fields = ['clientId', 'environment', 'status', 'tokenLifetimeSeconds', 'superuser', 'mailAddress']
  for (const field of [...fields, 'approvedAt', 'createdAt', 'updatedAt']) {
    expect(await names(`search=listed&sortBy=${field}`)).toHaveLength(3)
  }
  expect((await call('GET', '?sortBy=secret')).status).toBe(400)
  expect((await call('GET', '?search=test-superuser')).body.data[0]).toMatchObject({ superuser: true })
})

test('where mail is configured, secrets go to the contact, and a mail that fails changes nothing', async () => {
  const server = await startMailServer()
  await using mailing = await startTestPlatform({ env: server.env })
  const admin = (method: string, path: string, body?: unknown) =>
    mailing.call(method, `${PATH}${path}`, { token: mailing.superuser.token, body })
  const input = { name: 'robot', environment: 'prod', mailAddress: 'ops@example.test' }
  const { clientId } = (await admin('POST', '', input)).body

  server.refuse(true)
  expect((await admin('POST', `/${clientId}:approve`)).status).toBe(502)
  expect((await admin('GET', `/${clientId}`)).body.status).toBe('In Progress')
  server.refuse(false)
  const approved = await admin('POST', `/${clientId}:approve`)
  expect(approved.body).toMatchObject({ status: 'Active', delivery: 'mail' })
  expect(approved.body).not.toHaveProperty('clientSecret')
  const secretOf = (text = '') => /client secret +(\S+)/.exec(text)?.[1] ?? ''
  expect(server.mails).toHaveLength(1)
  expect(server.mails[0]?.to).toBe('ops@example.test')
  expect(await mailing.clientToken(clientId, secretOf(server.mails[0]?.text))).toContain('.')

  server.refuse(true)
  expect((await admin('POST', `/${clientId}:rotate-secret`)).status).toBe(502)
  expect(await mailing.clientToken(clientId, secretOf(server.mails[0]?.text))).toContain('.')
  server.refuse(false)
  expect((await admin('POST', `/${clientId}:rotate-secret`)).body.delivery).toBe('mail')
  expect(await mailing.clientToken(clientId, secretOf(server.mails[1]?.text))).toContain('.')

  const silent = (await admin('POST', '', { name: 'no contact', environment: 'int' })).body
  expect((await admin('POST', `/${silent.clientId}:approve`)).body.delivery).toBe('answer')
  await server.close()
})
