import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cast, createCast, UNKNOWN_ID } from './cast.ts'

let platform: TestPlatform
let cast: Cast
beforeAll(async () => {
  platform = await startTestPlatform({ env: { ATRIUM_DATA_HUB_URL: 'https://hub.example.test/' } })
  cast = await createCast(platform)
})
afterAll(() => platform.close())

const pathOf = (spaceId: string) => `/portal/v1/spaces/${spaceId}/cdh-links`
const link = (name: string, more: object = {}) => ({
  cdhEnvAccountID: '1234',
  name,
  cdhType: 'Provider',
  cdhHub: 'global',
  cdhProviderId: 'prov',
  stage: 'Dev',
  ...more,
})
const create = (body: unknown, spaceId = cast.home.spaceId) =>
  platform.call('POST', pathOf(spaceId), { token: cast.tokens.superuser, body })
const call = (
  method: string,
  id: string,
  options: { body?: unknown; headers?: Record<string, string>; spaceId?: string } = {},
) =>
  platform.call(method, `${pathOf(options.spaceId ?? cast.home.spaceId)}/${id}`, {
    token: cast.tokens.superuser,
    ...options,
  })

describe('POST …/cdh-links', () => {
  test('links an environment and builds its address', async () => {
    const answer = await create(link('one', { cdhLink: 'https://evil.test', cdhWorkspaceId: 'mine' }))
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      ...link('one'),
      cdhUseCaseId: '',
      cdhWorkspaceId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      spaceId: cast.home.spaceId,
      cdhLink: 'https://hub.example.test/global/providers/prov/environments/1234',
    })
    expect((await create(link('one'))).status).toBe(409)
    expect((await create(link('one'), cast.other.spaceId)).status).toBe(201)
    expect((await create(link('two'), UNKNOWN_ID)).status).toBe(404)
  })

  test('a use case is addressed as one, and odd ids stay one path segment', async () => {
    const useCase = link('case', { cdhType: 'UseCase', cdhProviderId: undefined, cdhUseCaseId: 'uc' })
    expect((await create(useCase)).body.cdhLink).toBe(
      'https://hub.example.test/global/usecases/uc/environments/1234',
    )
    const odd = await create(link('odd', { cdhProviderId: '../a?b' }))
    expect(odd.body.cdhLink).toBe('https://hub.example.test/global/providers/..%2Fa%3Fb/environments/1234')
  })

  test.each([
    [{ cdhEnvAccountID: undefined }, 'cdhEnvAccountID'],
    [{ name: '' }, 'name'],
    [{ cdhType: 'Other' }, 'cdhType'],
    [{ cdhHub: undefined }, 'cdhHub'],
    [{ stage: 'Test' }, 'stage'],
    [{ cdhProviderId: undefined }, 'cdhProviderId'],
    [{ cdhType: 'UseCase' }, 'cdhUseCaseId'],
    [{ cdhUseCaseId: 5 }, 'cdhUseCaseId'],
  ])('refuses %j', async (wrong, field) => {
    const answer = await create(link('bad', wrong))
    expect(answer.status).toBe(400)
    expect(answer.body.error.message).toContain(field)
  })
})

test('GET …/cdh-links filters, searches, sorts and pages', async () => {
  const { spaceId, memberToken } = await platform.space()
  await create(link('b', { stage: 'Prod' }), spaceId)
  await create(link('A', { cdhHub: 'china' }), spaceId)
  await create(link('c', { cdhType: 'UseCase', cdhUseCaseId: 'churn' }), spaceId)
  const list = async (query = '') => {
    const answer = await platform.call('GET', `${pathOf(spaceId)}${query}`, { token: memberToken })
    expect(answer.status, JSON.stringify(answer.body)).toBe(200)
    return answer.body
  }
  const names = async (query: string) =>
    ((await list(query)).data as { name: string }[]).map((one) => one.name)
  expect(await names('')).toEqual(['b', 'A', 'c'])
  expect(await names('?sortBy=name')).toEqual(['A', 'b', 'c'])
  expect(await names('?sortBy=name&sortOrder=desc&limit=1&page=2')).toEqual(['b'])
  expect(await names('?stage=Prod')).toEqual(['b'])
  expect(await names('?cdhType=UseCase')).toEqual(['c'])
  expect(await names('?search=CHURN')).toEqual(['c'])
  expect(await names('?search=china&stage=Prod')).toEqual([])
  const { data, pagination } = await list('?limit=2')
  expect(pagination).toEqual({ totalRecords: 3, currentPage: 1, totalPages: 2, nextPage: 2, prevPage: null })
  for (const field of Object.keys(data[0])) {
    if (field !== 'createdBy' && field !== 'modifiedBy')
      expect(await names(`?sortBy=${field}`)).toHaveLength(3)
  }
  const administrator = { qxId: platform.superuser.qxId, name: 'Administrator' }
  expect(data[0]).toMatchObject({
    createdBy: administrator,
    modifiedBy: administrator,
    createdAt: expect.stringMatching(/Z$/),
  })
  for (const query of ['stage=prod', 'cdhType=x', 'sortBy=createdBy', 'limit=5000']) {
    const answer = await platform.call('GET', `${pathOf(spaceId)}?${query}`, { token: memberToken })
    expect(answer.status).toBe(400)
  }
  const counted = await platform.call('GET', `/portal/v1/spaces/${spaceId}`, { token: memberToken })
  expect(counted.body.cdhCount).toBe(3)
})

describe('PATCH and DELETE …/cdh-links/{id}', () => {
  test('changes given fields only, and stays valid as a whole', async () => {
    const { body } = await create(link('patch'))
    await create(link('taken'))
    const answer = await call('PATCH', body.cdhWorkspaceId, { body: { stage: 'Int', cdhLink: 'x' } })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ ...body, stage: 'Int' })
    expect((await call('PATCH', body.cdhWorkspaceId, { body: { cdhType: 'UseCase' } })).status).toBe(400)
    expect((await call('PATCH', body.cdhWorkspaceId, { body: { cdhProviderId: '' } })).status).toBe(400)
    expect((await call('PATCH', body.cdhWorkspaceId, { body: { stage: 'x' } })).status).toBe(400)
    expect((await call('PATCH', body.cdhWorkspaceId, { body: { name: 'taken' } })).status).toBe(409)
    const both = { cdhType: 'UseCase', cdhUseCaseId: 'uc' }
    expect((await call('PATCH', body.cdhWorkspaceId, { body: both })).body).toMatchObject({
      ...both,
      stage: 'Int',
    })
  })

  test('a link of another space does not exist here', async () => {
    const { body } = await create(link('theirs'), cast.other.spaceId)
    for (const id of [body.cdhWorkspaceId, UNKNOWN_ID]) {
      expect((await call('PATCH', id, { body: { stage: 'Int' } })).status).toBe(404)
      expect((await call('DELETE', id)).status).toBe(404)
    }
  })

  test('deletes, with If-Match', async () => {
    const created = await create(link('delete'))
    const id = created.body.cdhWorkspaceId
    const stale = { 'if-match': '"7"' }
    expect((await call('DELETE', id, { headers: stale })).status).toBe(412)
    expect((await call('PATCH', id, { body: { stage: 'Int' }, headers: stale })).status).toBe(412)
    expect(
      (await call('DELETE', id, { headers: { 'if-match': created.headers.get('etag') ?? '' } })).status,
    ).toBe(204)
    expect((await call('DELETE', id)).status).toBe(404)
  })
})
