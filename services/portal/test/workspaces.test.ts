import { sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Cast, createCast, UNKNOWN_ID } from './cast.ts'

let platform: TestPlatform
let cast: Cast
beforeAll(async () => {
  platform = await sharedTestPlatform()
  cast = await createCast(platform)
})

const pathOf = (spaceId: string) => `/portal/v1/spaces/${spaceId}/mkflw-workspaces`
const workspace = (namespaceName: string, more: object = {}) => ({
  region: 'eu-central-1',
  clusterName: 'blue',
  namespaceName,
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

describe('POST …/mkflw-workspaces', () => {
  test('links a workspace; names are unique within a space only', async () => {
    const answer = await create(workspace('team-a', { workspaceId: 'mine' }))
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      workspaceId: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7/),
      spaceId: cast.home.spaceId,
      region: 'eu-central-1',
      clusterName: 'blue',
      namespaceName: 'team-a',
    })
    expect((await create(workspace('team-a'))).status).toBe(409)
    expect((await create(workspace('team-a'), cast.other.spaceId)).status).toBe(201)
    expect((await create(workspace('team-b', { region: 'cn-north-1' }))).status).toBe(201)
    expect((await create(workspace('team-x'), UNKNOWN_ID)).status).toBe(404)
  })

  test.each([
    ...[
      { region: 'Europe' },
      { region: 'eu-central' },
      { region: '' },
      { region: undefined },
      { clusterName: '' },
    ],
    ...[
      { clusterName: undefined },
      { namespaceName: 'Team' },
      { namespaceName: '-a' },
      { namespaceName: 'a-' },
    ],
    ...[{ namespaceName: 'a.b' }, { namespaceName: 'a'.repeat(64) }, { namespaceName: undefined }],
  ])('refuses %j', async (wrong) => {
    expect((await create(workspace('fine', wrong))).status).toBe(400)
  })
})

describe('GET …/mkflw-workspaces', () => {
  test('all in creation order, one by namespace, or a page', async () => {
    const { spaceId, memberToken } = await platform.space()
    for (const name of ['c', 'a', 'b']) await create(workspace(name), spaceId)
    const list = async (query = '') =>
      (await platform.call('GET', `${pathOf(spaceId)}${query}`, { token: memberToken })).body as {
        namespaceName: string
      }[]
    const all = await list()
    expect(all.map((one) => one.namespaceName)).toEqual(['c', 'a', 'b'])
    const administrator = { qxId: platform.superuser.qxId, name: 'Administrator' }
    expect(all[0]).toEqual({
      workspaceId: expect.any(String),
      spaceId,
      ...workspace('c'),
      createdBy: administrator,
      modifiedBy: administrator,
      createdAt: expect.stringMatching(/Z$/),
      updatedAt: expect.stringMatching(/Z$/),
    })
    expect((await list('?namespaceName=a')).map((one) => one.namespaceName)).toEqual(['a'])
    expect(await list('?namespaceName=nothing')).toEqual([])
    expect((await list('?limit=1&page=2')).map((one) => one.namespaceName)).toEqual(['a'])
    const counted = await platform.call('GET', `/portal/v1/spaces/${spaceId}`, { token: memberToken })
    expect(counted.body.kubeflowPipelinesCount).toBe(3)
    const wrong = await platform.call('GET', `${pathOf(spaceId)}?limit=0`, { token: memberToken })
    expect(wrong.status).toBe(400)
  })
})

describe('PATCH and DELETE …/mkflw-workspaces/{id}', () => {
  test('changes given fields only', async () => {
    const { body } = await create(workspace('patch-me'))
    await create(workspace('taken'))
    const answer = await call('PATCH', body.workspaceId, { body: { region: 'us-gov-west-1', spaceId: 'x' } })
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ ...body, region: 'us-gov-west-1' })
    expect((await call('PATCH', body.workspaceId, { body: { namespaceName: 'taken' } })).status).toBe(409)
    expect((await call('PATCH', body.workspaceId, { body: { namespaceName: 'patch-me' } })).status).toBe(200)
    for (const wrong of [{ region: 'x' }, { namespaceName: 'A' }, { clusterName: 3 }]) {
      expect((await call('PATCH', body.workspaceId, { body: wrong })).status).toBe(400)
    }
  })

  test('a workspace of another space does not exist here', async () => {
    const { body } = await create(workspace('theirs'), cast.other.spaceId)
    for (const id of [body.workspaceId, UNKNOWN_ID]) {
      expect((await call('PATCH', id, { body: { region: 'eu-west-1' } })).status).toBe(404)
      expect((await call('DELETE', id)).status).toBe(404)
    }
    expect((await call('DELETE', body.workspaceId, { spaceId: cast.other.spaceId })).status).toBe(204)
  })

  test('deletes, with If-Match', async () => {
    const created = await create(workspace('delete-me'))
    const id = created.body.workspaceId
    expect((await call('DELETE', id, { headers: { 'if-match': '"7"' } })).status).toBe(412)
    expect((await call('PATCH', id, { body: {}, headers: { 'if-match': '"7"' } })).status).toBe(412)
    expect(
      (await call('DELETE', id, { headers: { 'if-match': created.headers.get('etag') ?? '' } })).status,
    ).toBe(204)
    expect((await call('DELETE', id)).status).toBe(404)
  })
})

describe('GET /v1/spaces-with-workflows', () => {
  const list = async (token: string, query = '') => {
    const answer = await platform.call('GET', `/portal/v1/spaces-with-workflows${query}`, { token })
    expect(answer.status).toBe(200)
    return answer.body as { spaceId: string; workspaces: { namespaceName: string }[] }[]
  }

  test('spaces with their workspaces: all for a superuser client, else where the client has a role', async () => {
    const { spaceId } = await platform.space()
    await create(workspace('green-1', { clusterName: 'green' }), spaceId)
    await create(workspace('blue-1'), spaceId)
    await create(workspace('green-2', { clusterName: 'green' }), cast.other.spaceId)
    const find = async (token: string, query = '') =>
      (await list(token, query)).map((space) => [
        space.spaceId,
        space.workspaces.map((one) => one.namespaceName),
      ])
    const { superuserClient, strangerClient } = cast.tokens
    expect(await find(superuserClient)).toContainEqual([spaceId, ['green-1', 'blue-1']])
    expect(await find(superuserClient, '?clusterName=green')).toEqual([
      [cast.other.spaceId, ['green-2']],
      [spaceId, ['green-1']],
    ])
    expect(await find(strangerClient, '?clusterName=green')).toEqual([[cast.other.spaceId, ['green-2']]])
    expect(await find(superuserClient, '?clusterName=none')).toEqual([])
    expect(await find(superuserClient, '?clusterName=green&limit=1&page=2')).toEqual([[spaceId, ['green-1']]])
    const one = (await list(superuserClient, '?clusterName=green'))[1]
    expect(one).toEqual({
      spaceId,
      spaceName: expect.any(String),
      description: '',
      appId: expect.any(String),
      itsmServiceOffering: '',
      workspaces: [
        {
          workspaceId: expect.any(String),
          clusterName: 'green',
          namespaceName: 'green-1',
          region: 'eu-central-1',
        },
      ],
    })
  })

  test.each(['limit=0', 'limit=1001', 'page=0', 'clusterName='])('refuses ?%s', async (query) => {
    const path = `/portal/v1/spaces-with-workflows?${query}`
    expect((await platform.call('GET', path, { token: cast.tokens.superuserClient })).status).toBe(400)
  })

  test('M2M tokens only', async () => {
    for (const caller of ['superuser', 'member', 'key'] as const) {
      const answer = await platform.call('GET', '/portal/v1/spaces-with-workflows', {
        token: cast.tokens[caller],
      })
      expect(answer.status).toBe(401)
      expect(answer.body.error.message).toBe('This operation needs an M2M token')
    }
  })
})
