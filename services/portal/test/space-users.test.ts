import { sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Cast, createCast, UNKNOWN_ID, userIdOf } from './cast.ts'

let platform: TestPlatform
let cast: Cast
beforeAll(async () => {
  platform = await sharedTestPlatform()
  cast = await createCast(platform)
})

const TIMESTAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const usersOf = (spaceId: string) => `/portal/v1/spaces/${spaceId}/users`
const person = (qNumber: string, more: object = {}) => ({
  qNumber,
  name: `Name ${qNumber}`,
  mailAddress: `${qNumber}@example.test`,
  role: 'member',
  ...more,
})
const add = (body: unknown, spaceId = cast.home.spaceId) =>
  platform.call('POST', usersOf(spaceId), { token: cast.tokens.superuser, body })

describe('POST …/users', () => {
  test('adds a person', async () => {
    const answer = await add({
      ...person('qx-new', { role: 'owner', department: 'R&D' }),
      userId: 'mine',
      createdAt: 1,
    })
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      userId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      qNumber: 'qx-new',
      name: 'Name qx-new',
      department: 'R&D',
      mailAddress: 'qx-new@example.test',
      role: 'owner',
      createdAt: expect.stringMatching(TIMESTAMP),
    })
  })

  test('a person is one record over all spaces', async () => {
    const first = await add(person('qx-both'))
    const second = await add(person('qx-both', { name: 'Better Name', role: 'owner' }), cast.other.spaceId)
    expect(second.status).toBe(201)
    expect(second.body.userId).toBe(first.body.userId)
    const here = await platform.call('GET', `${usersOf(cast.home.spaceId)}?search=qx-both`, {
      token: cast.tokens.superuser,
    })
    expect(here.body.data).toMatchObject([{ name: 'Better Name', role: 'member' }])
  })

  test('who is in the space already gets 400, also when two add them at once', async () => {
    const answers = await Promise.all([add(person('qx-race')), add(person('qx-race'))])
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 400])
    const again = await add(person('qx-race'))
    expect(again.status).toBe(400)
    expect(again.body.error.message).toContain('already in this space')
  })

  test('a refused addition leaves the person as they were', async () => {
    await add(person('qx-same'))
    await add(person('qx-same', { name: 'Overwritten' }))
    const { body } = await platform.call('GET', `${usersOf(cast.home.spaceId)}?search=qx-same`, {
      token: cast.tokens.superuser,
    })
    expect(body.data[0].name).toBe('Name qx-same')
  })

  test.each([
    [{ qNumber: undefined }, 'body.qNumber'],
    [{ qNumber: 'has space' }, 'body.qNumber'],
    [{ qNumber: 'q'.repeat(129) }, 'body.qNumber'],
    [{ qNumber: 'a\u0082b' }, 'body.qNumber'],
    [{ name: undefined }, 'body.name'],
    [{ name: ' ' }, 'body.name'],
    [{ mailAddress: undefined }, 'body.mailAddress'],
    [{ mailAddress: 'nobody' }, 'body.mailAddress'],
    [{ mailAddress: 'a@b>,c@d' }, 'body.mailAddress'],
    [{ role: undefined }, 'body.role'],
    [{ role: 'admin' }, 'body.role'],
    [{ role: ['owner'] }, 'body.role'],
    [{ department: 3 }, 'body.department'],
  ])('refuses %j', async (wrong, field) => {
    const answer = await add(person('qx-bad', wrong))
    expect(answer.status).toBe(400)
    expect(answer.body.error.message).toContain(field)
  })

  test('404 for an unknown space', async () => {
    expect((await add(person('qx-nowhere'), UNKNOWN_ID)).status).toBe(404)
  })
})

describe('GET …/users', () => {
  let spaceId: string
  const list = async (query = '') => {
    const answer = await platform.call('GET', `${usersOf(spaceId)}${query}`, { token: cast.tokens.superuser })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body
  }
  const qNumbers = async (query: string) =>
    ((await list(query)).data as { qNumber: string }[]).map((user) => user.qNumber)

  beforeAll(async () => {
    spaceId = (await platform.space({ owner: 'L1', members: ['l2'] })).spaceId
    await add(
      person('L3', { name: 'Änne 100%', department: 'Vision_Lab', mailAddress: 'a.n@x.test' }),
      spaceId,
    )
    await add(person('l4', { name: 'zoe', department: 'vision lab', role: 'owner' }), spaceId)
    await add(person('l5', { name: 'Bob' }), spaceId)
  })

  test('without limit everything comes, in the order of addition', async () => {
    const body = await list()
    expect(body.data.map((user: { qNumber: string }) => user.qNumber)).toEqual(['L1', 'l2', 'L3', 'l4', 'l5'])
    expect(body.pagination).toEqual({
      totalRecords: 5,
      currentPage: 1,
      totalPages: 1,
      nextPage: null,
      prevPage: null,
    })
    expect(Object.keys(body.data[0]).sort()).toEqual(
      ['department', 'mailAddress', 'name', 'qNumber', 'role', 'userId'].sort(),
    )
  })

  test('pages', async () => {
    const second = await list('?limit=2&page=2')
    expect(second.data.map((user: { qNumber: string }) => user.qNumber)).toEqual(['L3', 'l4'])
    expect(second.pagination).toEqual({
      totalRecords: 5,
      currentPage: 2,
      totalPages: 3,
      nextPage: 3,
      prevPage: 1,
    })
    const past = await list('?limit=2&page=9')
    expect(past).toEqual({
      data: [],
      pagination: { totalRecords: 5, currentPage: 9, totalPages: 3, nextPage: null, prevPage: 3 },
    })
    expect(await qNumbers('?page=2')).toHaveLength(5)
  })

  test('searches text in either case and takes wildcards literally', async () => {
    expect(await qNumbers('?search=VISION')).toEqual(['L3', 'l4'])
    expect(await qNumbers(`?search=${encodeURIComponent('äNNE')}`)).toEqual(['L3'])
    expect(await qNumbers(`?search=${encodeURIComponent('100%')}`)).toEqual(['L3'])
    expect(await qNumbers('?search=vision_lab')).toEqual(['L3'])
    expect(await qNumbers('?search=a.n@x')).toEqual(['L3'])
    expect(await qNumbers(`?search=${encodeURIComponent("' OR 1=1 --")}`)).toEqual([])
    expect((await list('?search=vision&limit=1')).pagination.totalRecords).toBe(2)
  })

  test('filters by role', async () => {
    expect(await qNumbers('?role=owner')).toEqual(['L1', 'l4'])
    expect(await qNumbers('?role=member&search=bob')).toEqual(['l5'])
  })

  test('sorts by every field, both ways', async () => {
    expect(await qNumbers('?sortBy=qNumber')).toEqual(['L1', 'l2', 'L3', 'l4', 'l5'])
    expect(await qNumbers('?sortBy=qNumber&sortOrder=desc')).toEqual(['l5', 'l4', 'L3', 'l2', 'L1'])
    expect(await qNumbers('?sortOrder=desc')).toEqual(['l5', 'l4', 'L3', 'l2', 'L1'])
    expect((await qNumbers('?sortBy=role&role=owner&sortOrder=desc'))[0]).toBe('l4')
    for (const field of ['userId', 'name', 'department', 'mailAddress', 'role']) {
      expect(await qNumbers(`?sortBy=${field}`)).toHaveLength(5)
    }
  })

  test.each([
    ...['sortBy=password', 'sortBy=constructor', 'sortBy=__proto__', 'sortBy=m.role;--', 'sortOrder=up'],
    ...['role=admin', 'limit=0', 'limit=1001', 'page=0&limit=1', `search=${'x'.repeat(201)}`],
  ])('refuses ?%s', async (query) => {
    const answer = await platform.call('GET', `${usersOf(spaceId)}?${query}`, {
      token: cast.tokens.superuser,
    })
    expect(answer.status).toBe(400)
  })
})

describe('PATCH and DELETE …/users/{userId}', () => {
  const call = (
    method: string,
    userId: string,
    options: { body?: unknown; headers?: Record<string, string>; spaceId?: string } = {},
  ) =>
    platform.call(method, `${usersOf(options.spaceId ?? cast.home.spaceId)}/${userId}`, {
      token: cast.tokens.superuser,
      ...options,
    })

  test('changes the role, at once', async () => {
    const { body } = await add(person('qx-promoted'))
    const token = await platform.userToken({ qxId: 'qx-promoted', name: 'P' })
    const rename = () =>
      platform.call('PATCH', `/portal/v1/spaces/${cast.home.spaceId}`, { token, body: { description: 'p' } })
    expect((await rename()).status).toBe(403)
    const answer = await call('PATCH', body.userId, { body: { role: 'owner', name: 'ignored' } })
    expect(answer.status).toBe(200)
    const { createdAt: _, ...core } = body
    expect(answer.body).toEqual({ ...core, role: 'owner', modifiedAt: expect.stringMatching(TIMESTAMP) })
    expect((await rename()).status).toBe(200)
    expect((await call('PATCH', body.userId, { body: { role: 'member' } })).status).toBe(200)
    expect((await rename()).status).toBe(403)
  })

  test('removes a member, at once', async () => {
    const { body } = await add(person('qx-leaver'))
    const token = await platform.userToken({ qxId: 'qx-leaver', name: 'L' })
    const read = () => platform.call('GET', `/portal/v1/spaces/${cast.home.spaceId}`, { token })
    expect((await read()).status).toBe(200)
    const answer = await call('DELETE', body.userId)
    expect(answer.status).toBe(204)
    expect(answer.body).toBe('')
    expect((await read()).status).toBe(403)
    expect((await call('DELETE', body.userId)).status).toBe(404)
    expect((await add(person('qx-leaver'))).status).toBe(201)
  })

  test('404 for who is not in this space, though in another', async () => {
    const { body } = await add(person('qx-elsewhere'), cast.other.spaceId)
    expect((await call('PATCH', body.userId, { body: { role: 'owner' } })).status).toBe(404)
    expect((await call('DELETE', body.userId)).status).toBe(404)
    expect((await call('PATCH', UNKNOWN_ID, { body: { role: 'owner' } })).status).toBe(404)
    expect((await call('DELETE', UNKNOWN_ID)).status).toBe(404)
    expect((await call('DELETE', body.userId, { spaceId: cast.other.spaceId })).status).toBe(204)
  })

  test('If-Match', async () => {
    const added = await add(person('qx-etag'))
    const etag = added.headers.get('etag') ?? ''
    const changed = await call('PATCH', added.body.userId, {
      body: { role: 'owner' },
      headers: { 'if-match': etag },
    })
    expect(changed.status).toBe(200)
    const headers = { 'if-match': etag }
    expect((await call('PATCH', added.body.userId, { body: { role: 'owner' }, headers })).status).toBe(412)
    expect((await call('DELETE', added.body.userId, { headers })).status).toBe(412)
    const now = { 'if-match': changed.headers.get('etag') ?? '' }
    expect((await call('DELETE', added.body.userId, { headers: now })).status).toBe(204)
  })

  test.each([{}, { role: 'boss' }, { role: null }, []])('refuses %j', async (body) => {
    const userId = await userIdOf(platform, cast.home.spaceId, 'qx-max')
    expect((await call('PATCH', userId, { body })).status).toBe(400)
  })
})

test('names are found and sorted as people read them, whatever their letters', async () => {
  const { spaceId } = await platform.space({ owner: 'qx-sorting', members: [] })
  const names = ['Zoë', 'Émile', 'eva', 'Öl', 'olga', 'zacharias', 'Ørsted', 'Ángel', 'anna', 'Ναός', '李']
  for (const [index, name] of names.entries()) await add(person(`qx-name-${index}`, { name }), spaceId)
  const read = async (query: string): Promise<string[]> => {
    const { body } = await platform.call('GET', `${usersOf(spaceId)}?${query}`, {
      token: cast.tokens.superuser,
    })
    return body.data.map((user: { name: string }) => user.name)
  }
  const sorted = ['Ángel', 'anna', 'Émile', 'eva', 'Öl', 'olga', 'Ørsted', 'zacharias', 'Zoë', 'Ναός', '李']
  const without = (list: string[]) => list.filter((name) => !name.startsWith('Name'))
  expect(without(await read('sortBy=name'))).toEqual(sorted)
  expect(without(await read('sortBy=name&sortOrder=desc'))).toEqual(sorted.toReversed())
  expect(await read('search=ÉMI')).toEqual(['Émile'])
  expect(await read('search=öl')).toEqual(['Öl'])
  expect(await read(`limit=10&page=${Number.MAX_SAFE_INTEGER}`)).toEqual([])
})
