import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cast, createCast } from './cast.ts'

let platform: TestPlatform
let cast: Cast
beforeAll(async () => {
  platform = await startTestPlatform()
  cast = await createCast(platform)
})
afterAll(() => platform.close())

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const post = (body: unknown, token = cast.tokens.superuser) =>
  platform.call('POST', '/portal/v1/spaces', { token, body })

describe('POST /v1/spaces', () => {
  test('makes a space of which the creator is no member', async () => {
    const answer = await post({
      spaceName: 'Vision',
      appId: 'APP-1',
      description: 'Cameras',
      itsmServiceOffering: 'AI-1',
      spaceId: 'mine',
      createdBy: { qxId: 'someone' },
      unknown: 1,
    })
    expect(answer.status).toBe(201)
    expect(answer.headers.get('etag')).toBe('"1"')
    expect(answer.body).toEqual({
      spaceId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      spaceName: 'Vision',
      appId: 'APP-1',
      description: 'Cameras',
      itsmServiceOffering: 'AI-1',
      createdAt: expect.stringMatching(TIMESTAMP),
    })
    const { body } = await platform.call('GET', `/portal/v1/spaces/${answer.body.spaceId}`, {
      token: cast.tokens.superuser,
    })
    expect(body).toMatchObject({
      createdBy: { qxId: platform.superuser.qxId, name: 'Administrator' },
      modifiedBy: { qxId: platform.superuser.qxId, name: 'Administrator' },
      user: { role: 'none', superuser: true },
      userCount: 0,
      kubeflowPipelinesCount: 0,
      apiKeysCount: 0,
      cdhCount: 0,
    })
  })

  test('optional fields are empty by default', async () => {
    const { body } = await post({ spaceName: 'Plain', appId: 'APP-2' }, cast.tokens.superuserClient)
    expect(body).toMatchObject({ description: '', itsmServiceOffering: '' })
  })

  test.each([
    [{ appId: 'A' }, 'body.spaceName'],
    [{ spaceName: 'S' }, 'body.appId'],
    [{ spaceName: '', appId: 'A' }, 'body.spaceName'],
    [{ spaceName: '  ', appId: 'A' }, 'body.spaceName'],
    [{ spaceName: 'x'.repeat(201), appId: 'A' }, 'body.spaceName'],
    [{ spaceName: 5, appId: 'A' }, 'body.spaceName'],
    [{ spaceName: 'S', appId: 'A', description: null }, 'body.description'],
    [[], 'body'],
    [undefined, 'body'],
  ])('refuses %j', async (body, field) => {
    const answer = await post(body)
    expect(answer.status).toBe(400)
    expect(answer.body.error.message).toContain(field)
  })

  test.each([
    ['not JSON', '{"spaceName":', 400],
    ['NUL', '{"spaceName":"a\\u0000b","appId":"A"}', 400],
    ['half a surrogate pair', '{"spaceName":"\\ud800","appId":"A"}', 400],
    ['depth 10,000', `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`, 400],
    ['2 MiB', JSON.stringify({ spaceName: 'x'.repeat(2 * 1024 * 1024), appId: 'A' }), 413],
  ])('refuses a body that is %s', async (_name, body, expected) => {
    const answer = await platform.call('POST', '/portal/v1/spaces', { token: cast.tokens.superuser, body })
    expect(answer.status).toBe(expected)
    expect(answer.body.error).toEqual({ code: expected, message: expect.any(String) })
  })

  test('stores what an injection would break', async () => {
    const spaceName = `'); DROP TABLE portal.spaces; -- "\\ %_ \u{1F600} <script>`
    const { body } = await post({ spaceName, appId: '$1' })
    expect(body).toMatchObject({ spaceName, appId: '$1' })
  })
})

describe('GET /v1/spaces', () => {
  const ids = async (token: string, query = '') => {
    const { status, body } = await platform.call('GET', `/portal/v1/spaces${query}`, { token })
    expect(status).toBe(200)
    return (body as { spaceId: string }[]).map((space) => space.spaceId)
  }

  test('shows each caller the spaces that are theirs, and superusers all', async () => {
    const { home, other, tokens } = cast
    for (const caller of ['owner', 'member', 'key', 'memberClient', 'ownerClient'] as const) {
      expect(await ids(tokens[caller]), caller).toEqual([home.spaceId])
    }
    for (const caller of ['otherOwner', 'otherKey', 'strangerClient'] as const) {
      expect(await ids(tokens[caller]), caller).toEqual([other.spaceId])
    }
    expect(await ids(tokens.stranger)).toEqual([])
    for (const caller of ['superuser', 'superuserClient'] as const) {
      expect(await ids(tokens[caller])).toEqual(expect.arrayContaining([home.spaceId, other.spaceId]))
    }
  })

  test('streams more than a batch in creation order, and pages', async () => {
    await platform.pool.query(`
      INSERT INTO portal.spaces (space_id, space_name, app_id, created_by_id, created_by_name, modified_by_id, modified_by_name)
      SELECT ('ffffffff-ffff-7fff-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 's' || n, 'a', 'x', 'x', 'x', 'x'
        FROM generate_series(1, 1200) n`)
    const all = await ids(cast.tokens.superuser)
    expect(all.length).toBeGreaterThan(1200)
    expect(all).toEqual([...all].sort())
    expect(await ids(cast.tokens.superuser, '?limit=10')).toEqual(all.slice(0, 10))
    expect(await ids(cast.tokens.superuser, '?limit=500&page=3')).toEqual(all.slice(1000, 1500))
    expect(await ids(cast.tokens.superuser, '?limit=1000&page=9')).toEqual([])
    expect(await ids(cast.tokens.superuser, '?page=3')).toEqual(all)
  })

  test.each([
    'limit=0',
    'limit=1001',
    'limit=1&limit=2',
    'limit=1e9',
    'limit=x',
    'limit=1.5',
    'limit=',
    'limit=5&page=0',
    'limit=5&page=-1',
  ])('refuses ?%s', async (query) => {
    const { status } = await platform.call('GET', `/portal/v1/spaces?${query}`, {
      token: cast.tokens.superuser,
    })
    expect(status).toBe(400)
  })
})

describe('GET /v1/spaces/{id}', () => {
  const get = (token: string) => platform.call('GET', `/portal/v1/spaces/${cast.home.spaceId}`, { token })

  test('counts and the caller’s relation', async () => {
    const { tokens, home } = cast
    const relations = {
      owner: { role: 'owner', superuser: false },
      member: { role: 'member', superuser: false },
      key: { role: 'member', superuser: false },
      ownerClient: { role: 'owner', superuser: false },
      memberClient: { role: 'member', superuser: false },
      superuser: { role: 'none', superuser: true },
      superuserClient: { role: 'none', superuser: true },
    } as const
    for (const [caller, user] of Object.entries(relations)) {
      const { status, body } = await get(tokens[caller as keyof typeof relations])
      expect(status, caller).toBe(200)
      expect(body, caller).toMatchObject({ spaceId: home.spaceId, user, userCount: 2, apiKeysCount: 1 })
    }
    const answer = await get(tokens.owner)
    expect(answer.headers.get('etag')).toMatch(/^"\d+"$/)
    expect(Object.keys(answer.body).sort()).toEqual(
      [
        ...[
          'apiKeysCount',
          'appId',
          'cdhCount',
          'createdAt',
          'createdBy',
          'description',
          'itsmServiceOffering',
        ],
        ...['kubeflowPipelinesCount', 'modifiedBy', 'spaceId', 'spaceName', 'user', 'userCount'],
      ].sort(),
    )
  })

  test('the id may be written in capitals', async () => {
    const path = `/portal/v1/spaces/${cast.home.spaceId.toUpperCase()}`
    expect((await platform.call('GET', path, { token: cast.tokens.key })).status).toBe(200)
  })
})

describe('PATCH /v1/spaces/{id}', () => {
  const patch = (body: unknown, headers: Record<string, string> = {}, token = cast.tokens.owner) =>
    platform.call('PATCH', `/portal/v1/spaces/${cast.home.spaceId}`, { token, body, headers })
  const read = async () => {
    const answer = await platform.call('GET', `/portal/v1/spaces/${cast.home.spaceId}`, {
      token: cast.tokens.owner,
    })
    return { body: answer.body, etag: answer.headers.get('etag') ?? '' }
  }

  test('changes given fields only, and says who did it', async () => {
    const before = await read()
    const answer = await patch({
      description: 'new',
      spaceId: 'other',
      createdBy: { qxId: 'x' },
      createdAt: '2000-01-01T00:00:00.000Z',
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({
      spaceId: cast.home.spaceId,
      spaceName: before.body.spaceName,
      appId: before.body.appId,
      description: 'new',
      itsmServiceOffering: '',
      createdAt: before.body.createdAt,
    })
    const after = await read()
    expect(after.body.modifiedBy).toEqual({ qxId: 'qx-olga', name: 'Name of qx-olga' })
    expect(after.body.createdBy).toEqual(before.body.createdBy)
    expect(after.etag).toBe(answer.headers.get('etag'))
    expect(after.etag).not.toBe(before.etag)
  })

  test('If-Match: of two that started from the same version, one wins', async () => {
    const { etag } = await read()
    const answers = await Promise.all(
      ['one', 'two'].map((description) => patch({ description }, { 'if-match': etag })),
    )
    expect(answers.map((answer) => answer.status).sort()).toEqual([200, 412])
    for (const header of ['"nonsense"', '"999999999999999"', '"2147483648"', 'W/"1"', '"', ',']) {
      expect((await patch({ description: 'x' }, { 'if-match': header })).status, header).toBe(412)
    }
    expect((await patch({ description: 'x' }, { 'if-match': `"77", ${(await read()).etag}` })).status).toBe(
      200,
    )
    expect((await patch({ description: 'x' }, { 'if-match': '*' })).status).toBe(200)
  })

  test.each([{ spaceName: '' }, { appId: 7 }, { description: null }, 'no object'])(
    'refuses %j',
    async (body) => {
      expect((await patch(typeof body === 'string' ? JSON.stringify(body) : body)).status).toBe(400)
    },
  )
})

test('unknown routes and wrong methods have the service’s error shape', async () => {
  const unknown = await platform.call('GET', '/portal/v1/nothing', { token: cast.tokens.owner })
  expect(unknown.status).toBe(404)
  expect(unknown.body).toEqual({ error: { code: 404, message: expect.any(String) } })
  const wrong = await platform.call('PUT', '/portal/v1/spaces', { token: cast.tokens.owner, unchecked: true })
  expect(wrong.status).toBe(405)
  expect(wrong.headers.get('allow')).toContain('POST')
  const nul = await platform.call('GET', `/portal/v1/spaces/${cast.home.spaceId}/users?search=%00`, {
    token: cast.tokens.owner,
    unchecked: true,
  })
  expect(nul.status).toBe(400)
})
