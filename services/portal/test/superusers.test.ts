import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cast, createCast, UNKNOWN_ID, userIdOf } from './cast.ts'

let platform: TestPlatform
let cast: Cast
beforeAll(async () => {
  platform = await startTestPlatform()
  cast = await createCast(platform)
})
afterAll(() => platform.close())

const PATH = '/portal/v1/admin/superuser'
const person = (qNumber: string, more: object = {}) => ({
  qNumber,
  name: `Name ${qNumber}`,
  mailAddress: `${qNumber}@example.test`,
  ...more,
})
const create = (body: unknown, token = cast.tokens.superuser) => platform.call('POST', PATH, { token, body })
const patch = (userId: string, body: unknown, headers: Record<string, string> = {}) =>
  platform.call('PATCH', `${PATH}/${userId}`, { token: cast.tokens.superuser, body, headers })

describe('POST /v1/admin/superuser', () => {
  test('makes a superuser, who is one at once', async () => {
    const token = await platform.userToken({ qxId: 'su-1', name: 'One' })
    const list = () => platform.call('GET', PATH, { token })
    expect((await list()).status).toBe(403)
    const answer = await create(person('su-1', { department: 'IT', superuser: false }))
    expect(answer.status).toBe(201)
    const administrator = (
      await platform.call('GET', `${PATH}?search=qx-admin`, { token: cast.tokens.superuser })
    ).body.data[0]
    expect(answer.body).toEqual({
      userId: expect.any(String),
      qNumber: 'su-1',
      name: 'Name su-1',
      department: 'IT',
      mailAddress: 'su-1@example.test',
      superuser: true,
      createdBy: administrator.userId,
      modifiedBy: administrator.userId,
      createdAt: expect.stringMatching(/Z$/),
      modifiedAt: expect.stringMatching(/Z$/),
    })
    expect((await list()).status).toBe(200)
  })

  test('appoints a person who is known from a space', async () => {
    const userId = await userIdOf(platform, cast.home.spaceId, 'qx-max')
    const answer = await create(person('qx-max'), cast.tokens.superuserClient)
    expect(answer.body).toMatchObject({ userId, createdBy: platform.superuserClient.clientId })
  })

  test('400 when they are one already, also when two appoint at once', async () => {
    const answers = await Promise.all([create(person('su-race')), create(person('su-race'))])
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, 400])
    expect((await create(person('su-race', { name: 'Changed' }))).status).toBe(400)
    const { body } = await platform.call('GET', `${PATH}?search=su-race`, { token: cast.tokens.superuser })
    expect(body.data[0].name).toBe('Name su-race')
  })

  test.each([{ qNumber: '' }, { name: undefined }, { mailAddress: 'x' }, { department: 1 }])(
    'refuses %j',
    async (wrong) => {
      expect((await create(person('su-bad', wrong))).status).toBe(400)
    },
  )
})

describe('GET /v1/admin/superuser', () => {
  test('searches name, mail, Q number and department; sorts and pages', async () => {
    for (const [qNumber, more] of [
      ['find-b', { name: 'Zed Findme' }],
      ['find-a', { mailAddress: 'findme@x.test' }],
      ['find-c', { department: 'FINDME' }],
    ] as const) {
      await create(person(qNumber, more))
    }
    const list = async (query: string) =>
      (await platform.call('GET', `${PATH}?${query}`, { token: cast.tokens.superuser })).body
    const qNumbers = async (query: string) =>
      ((await list(query)).data as { qNumber: string }[]).map((one) => one.qNumber)
    expect(await qNumbers('search=findme')).toEqual(['find-b', 'find-a', 'find-c'])
    expect(await qNumbers('search=FIND-&sortBy=qNumber')).toEqual(['find-a', 'find-b', 'find-c'])
    expect(await qNumbers('search=findme&sortBy=qNumber&sortOrder=desc&limit=1&page=2')).toEqual(['find-b'])
    expect((await list('search=findme&limit=1&page=2')).pagination).toEqual({
      ...{ totalRecords: 3, currentPage: 2, totalPages: 3, nextPage: 3, prevPage: 1 },
    })
    expect(await qNumbers('search=qx-olga')).toEqual([])
    const fields = [
      'userId',
      'name',
      'department',
      'mailAddress',
      'superuser',
      'createdBy',
      'modifiedBy',
      'createdAt',
      'modifiedAt',
    ]
    for (const field of fields) expect(await qNumbers(`search=findme&sortBy=${field}`)).toHaveLength(3)
    const wrong = await platform.call('GET', `${PATH}?sortBy=is_superuser`, { token: cast.tokens.superuser })
    expect(wrong.status).toBe(400)
  })
})

describe('PATCH /v1/admin/superuser/{userId}', () => {
  test('changes given fields; rights move with the Q number', async () => {
    const created = await create(person('su-old'))
    const [before, after] = await Promise.all(
      ['su-old', 'su-new'].map((qxId) => platform.userToken({ qxId, name: qxId })),
    )
    const status = async (token: string | undefined) =>
      (await platform.call('GET', PATH, token === undefined ? {} : { token })).status
    expect([await status(before), await status(after)]).toEqual([200, 403])
    const answer = await patch(created.body.userId, {
      qNumber: 'su-new',
      department: 'New',
      superuser: false,
    })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      qNumber: 'su-new',
      department: 'New',
      name: 'Name su-old',
      superuser: true,
    })
    expect(answer.body.createdAt).toBe(created.body.createdAt)
    expect([await status(before), await status(after)]).toEqual([403, 200])
  })

  test('400 when the Q number is another person’s, 404 for who is no superuser', async () => {
    const { body } = await create(person('su-patch'))
    expect((await patch(body.userId, { qNumber: 'qx-olga' })).status).toBe(400)
    expect((await patch(body.userId, { mailAddress: 'nobody' })).status).toBe(400)
    expect((await patch(UNKNOWN_ID, { name: 'x' })).status).toBe(404)
    const olga = await userIdOf(platform, cast.home.spaceId, 'qx-olga')
    expect((await patch(olga, { name: 'x' })).status).toBe(404)
  })

  test('If-Match', async () => {
    const created = await create(person('su-etag'))
    const headers = { 'if-match': created.headers.get('etag') ?? '' }
    expect((await patch(created.body.userId, { name: 'a' }, headers)).status).toBe(200)
    expect((await patch(created.body.userId, { name: 'b' }, headers)).status).toBe(412)
  })
})

describe('DELETE /v1/admin/superuser/{userId}', () => {
  const remove = (userId: string, headers: Record<string, string> = {}) =>
    platform.call('DELETE', `${PATH}/${userId}`, { token: cast.tokens.superuser, headers })

  test('takes the rights away at once; the person and their roles stay', async () => {
    const { spaceId } = await platform.space({ owner: 'qx-removed-super' })
    const { body, headers } = await create(person('qx-removed-super'))
    const token = await platform.userToken({ qxId: 'qx-removed-super', name: 'Removed' })
    expect((await platform.call('GET', PATH, { token })).status).toBe(200)
    expect((await remove(body.userId, { 'if-match': '"99"' })).status).toBe(412)
    expect((await remove(body.userId, { 'if-match': headers.get('etag') ?? '' })).status).toBe(204)
    expect((await platform.call('GET', PATH, { token })).status).toBe(403)
    const space = await platform.call('GET', `/portal/v1/spaces/${spaceId}`, { token })
    expect(space.body.user).toEqual({ role: 'owner', superuser: false })
    expect((await remove(body.userId)).status).toBe(404)
    expect((await create(person('qx-removed-super'))).status).toBe(201)
  })

  test('404 for who is no superuser', async () => {
    expect((await remove(UNKNOWN_ID)).status).toBe(404)
    expect((await remove(await userIdOf(platform, cast.home.spaceId, 'qx-olga'))).status).toBe(404)
  })

  test('never the last one’s, also when all are removed at the same moment', async () => {
    await using alone = await startTestPlatform()
    const root = (method: string, path: string, body?: unknown) =>
      alone.call(method, `${PATH}${path}`, { token: alone.superuserClient.token, body })
    const [first] = (await root('GET', '')).body.data
    const refused = await root('DELETE', `/${first.userId}`)
    expect([refused.status, refused.body.error.message]).toEqual([
      409,
      expect.stringContaining('last superuser'),
    ])
    const ids = [first.userId]
    for (const name of ['a', 'b', 'c', 'd'])
      ids.push((await root('POST', '', person(`su-${name}`))).body.userId)
    const answers = await Promise.all(ids.map((id) => root('DELETE', `/${id}`)))
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 204, 204, 204, 409])
    expect((await root('GET', '')).body.pagination.totalRecords).toBe(1)
  })
})
