import { sharedTestPlatform, type TestPlatform, type TestSpace } from '@atrium/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import { clientWith, UNKNOWN_ID } from './cast.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await sharedTestPlatform()
})

const root = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
  platform.call(method, `/portal/v1${path}`, { token: platform.superuser.token, body, headers })
const remove = (spaceId: string, headers: Record<string, string> = {}) =>
  root('DELETE', `/spaces/${spaceId}`, undefined, headers)
const restore = (spaceId: string, headers: Record<string, string> = {}) =>
  root('POST', `/admin/deleted-spaces/${spaceId}:restore`, undefined, headers)

interface Stage extends TestSpace {
  readonly clientToken: string
  readonly invitation: string
  readonly owner: string
}

/** A space with one of each that could lead into it. */
async function stage(): Promise<Stage> {
  const owner = `qx-closing-${Math.random().toString(36).slice(2, 8)}`
  const space = await platform.space({ owner })
  const { spaceId } = space
  const clientToken = await clientWith(platform, `client-${owner}`, { [spaceId]: 'member' })
  const workspace = { region: 'eu-central-1', clusterName: owner, namespaceName: 'n' }
  await root('POST', `/spaces/${spaceId}/mkflw-workspaces`, workspace)
  const invited = await root('POST', `/spaces/${spaceId}/invitations`, {
    mailAddress: `${owner}-guest@example.test`,
    role: 'member',
  })
  return { ...space, owner, clientToken, invitation: invited.body.token }
}

/** What each way into the space answers. */
async function waysInto({ spaceId, apiKey, ownerToken, memberToken, clientToken, owner }: Stage) {
  const status = async (path: string, token: string) => (await platform.call('GET', path, { token })).status
  const listed = async (path: string, token: string) =>
    (await platform.call('GET', path, { token })).body.some(
      (space: { spaceId: string }) => space.spaceId === spaceId,
    )
  return {
    key: [
      await status('/portal/v1/spaces', apiKey),
      await status('/llm/v1/models', apiKey),
      await status(`/agents/v1/spaces/${spaceId}/agent`, apiKey),
    ],
    people: [
      await status(`/portal/v1/spaces/${spaceId}`, ownerToken),
      await status(`/portal/v1/spaces/${spaceId}/users`, memberToken),
      await status(`/agents/v1/spaces/${spaceId}/vector-stores`, memberToken),
      await status(`/portal/v1/spaces/${spaceId}/apikeys`, platform.superuser.token),
      await status(`/agents/v1/spaces/${spaceId}/agent`, platform.superuser.token),
      await status(`/portal/v1/permissions/${spaceId}/${owner}`, platform.superuser.token),
    ],
    client: await status(`/agents/v1/spaces/${spaceId}/agent`, clientToken),
    listed: [
      await listed('/portal/v1/spaces', ownerToken),
      await listed('/portal/v1/spaces', platform.superuser.token),
      await listed('/portal/v1/spaces', clientToken),
      await listed(`/portal/v1/spaces-with-workflows?clusterName=${owner}`, platform.superuserClient.token),
    ],
  }
}

const OPEN = {
  key: [200, 200, 200],
  people: [200, 200, 200, 200, 200, 200],
  client: 200,
  listed: [true, true, true, true],
}
const CLOSED = {
  key: [401, 401, 401],
  people: [404, 404, 404, 404, 404, 404],
  client: 404,
  listed: [false, false, false, false],
}

describe('DELETE /v1/spaces/{spaceId}', () => {
  test('closes the space at once in every service, and it comes back as it was', async () => {
    const space = await stage()
    const { spaceId, ownerToken } = space
    const path = `/portal/v1/spaces/${spaceId}`
    const agent = { name: 'n', instructions: 'i', description: 'd', outputFormat: 'text' }
    await platform.call('POST', `/agents/v1/spaces/${spaceId}/agent?model=gpt-4o`, {
      token: space.apiKey,
      body: { ...agent, createdBy: { qxId: 'q', name: 'n' } },
    })
    const before = (await platform.call('GET', path, { token: ownerToken })).body
    expect(await waysInto(space)).toEqual(OPEN)
    expect((await remove(spaceId)).status).toBe(204)
    expect(await waysInto(space)).toEqual(CLOSED)
    const accepted = await platform.call('POST', '/portal/v1/invitations:accept', {
      token: await platform.userToken({ qxId: `${space.owner}-guest`, name: 'Guest' }),
      body: { token: space.invitation },
    })
    expect(accepted.status).toBe(410)
    const granted = await root('POST', '/admin/clients', {
      name: 'c',
      environment: 'int',
      grants: [{ spaceId, role: 'member' }],
    })
    expect(granted.status).toBe(400)
    expect((await remove(spaceId)).status).toBe(404)
    expect((await root('PATCH', `/spaces/${spaceId}`, { spaceName: 'x' })).status).toBe(404)

    const restored = await restore(spaceId)
    expect([restored.status, restored.body.spaceId]).toEqual([200, spaceId])
    expect(await waysInto(space)).toEqual(OPEN)
    const after = (await platform.call('GET', path, { token: ownerToken })).body
    expect(after).toEqual({ ...before, modifiedBy: expect.anything() })
    const agents = await platform.call('GET', `/agents/v1/spaces/${spaceId}/agent`, { token: space.apiKey })
    expect(agents.body).toHaveLength(1)
    expect((await restore(spaceId)).status).toBe(404)
  })

  test('leaves the space on the list of those that can be brought back, for a week', async () => {
    const { spaceId } = await platform.space()
    const { body: space } = await root('GET', `/spaces/${spaceId}`)
    await remove(spaceId)
    const listed = async () =>
      (await root('GET', `/admin/deleted-spaces?search=${space.appId}&sortBy=removedAfter&limit=5`)).body.data
    const [deleted] = await listed()
    expect(deleted).toMatchObject({
      spaceId,
      spaceName: space.spaceName,
      deletedBy: { qxId: platform.superuser.qxId },
    })
    expect(Date.parse(deleted.removedAfter) - Date.parse(deleted.deletedAt)).toBe(7 * 86_400_000)
    expect((await root('GET', '/admin/deleted-spaces?sortBy=nothing')).status).toBe(400)
    await platform.pool.query('UPDATE portal.spaces SET remove_after = now() WHERE space_id = $1', [spaceId])
    expect(await listed()).toEqual([])
    expect((await restore(spaceId)).status).toBe(404)
  })

  test('If-Match, on both ways', async () => {
    const { spaceId } = await platform.space()
    expect((await remove(spaceId, { 'if-match': '"9"' })).status).toBe(412)
    expect((await remove(spaceId, { 'if-match': '"1"' })).status).toBe(204)
    expect((await restore(spaceId, { 'if-match': '"1"' })).status).toBe(412)
    expect((await restore(spaceId, { 'if-match': '"2"' })).status).toBe(200)
  })

  test('is no owner’s, and of no unknown space', async () => {
    const { spaceId, ownerToken, apiKey } = await platform.space()
    for (const token of [ownerToken, apiKey]) {
      expect((await platform.call('DELETE', `/portal/v1/spaces/${spaceId}`, { token })).status).toBe(403)
    }
    expect((await remove(UNKNOWN_ID)).status).toBe(404)
    expect((await remove('nonsense')).status).toBe(404)
    // A space that was not deleted cannot be brought back.
    expect((await restore(spaceId)).status).toBe(404)
    expect((await restore('nonsense')).status).toBe(400)
  })
})
