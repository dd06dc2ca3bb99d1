import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { portalAccess } from '../src/access.ts'
import { clientWith, userIdOf } from './cast.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await startTestPlatform()
})
afterAll(() => platform.close())

type Operation = keyof typeof portalAccess
interface Done {
  readonly status: number
  readonly resourceId: string
  readonly secrets?: readonly string[]
}
interface Stage {
  readonly spaceId: string
  readonly ownerToken: string
  readonly apiKeyId: string
}

const root = (method: string, path: string, body?: unknown, token = platform.superuser.token) =>
  platform.call(method, `/portal/v1${path}`, { token, body })
const person = (qNumber: string) => ({ qNumber, name: 'P', mailAddress: `${qNumber}@example.test` })
const linkInput = {
  cdhEnvAccountID: '1',
  name: 'n',
  cdhType: 'Provider',
  cdhHub: 'h',
  cdhProviderId: 'p',
  stage: 'Dev',
}
const workspaceInput = { region: 'eu-central-1', clusterName: 'c', namespaceName: 'n' }

const made = async (path: string, body: unknown, id: string): Promise<string> =>
  (await root('POST', path, body)).body[id] as string

/** One success of every operation that changes something. */
const acts: { [name: string]: (stage: Stage) => Promise<Done> } = {
  async createSpace() {
    const { status, body } = await root('POST', '/spaces', { spaceName: 's', appId: 'a' })
    return { status, resourceId: body.spaceId }
  },
  async updateSpace({ spaceId, ownerToken }) {
    const { status } = await root('PATCH', `/spaces/${spaceId}`, { spaceName: 'renamed' }, ownerToken)
    return { status, resourceId: spaceId }
  },
  async addSpaceUser({ spaceId }) {
    const input = { ...person('qx-audited'), role: 'member' }
    const { status, body } = await root('POST', `/spaces/${spaceId}/users`, input)
    return { status, resourceId: body.userId }
  },
  async updateSpaceUser({ spaceId }) {
    const userId = await made(
      `/spaces/${spaceId}/users`,
      { ...person('qx-promoted'), role: 'member' },
      'userId',
    )
    const { status } = await root('PATCH', `/spaces/${spaceId}/users/${userId}`, { role: 'owner' })
    return { status, resourceId: userId }
  },
  async removeSpaceUser({ spaceId }) {
    const userId = await made(
      `/spaces/${spaceId}/users`,
      { ...person('qx-removed'), role: 'member' },
      'userId',
    )
    const { status } = await root('DELETE', `/spaces/${spaceId}/users/${userId}`)
    return { status, resourceId: userId }
  },
  async createSuperuser() {
    const { status, body } = await root('POST', '/admin/superuser', person('qx-super'))
    return { status, resourceId: body.userId }
  },
  async updateSuperuser() {
    const userId = await made('/admin/superuser', person('qx-super-2'), 'userId')
    const { status } = await root('PATCH', `/admin/superuser/${userId}`, { name: 'Renamed' })
    return { status, resourceId: userId }
  },
  async deleteSpace({ spaceId }) {
    const { status } = await root('DELETE', `/spaces/${spaceId}`)
    return { status, resourceId: spaceId }
  },
  async restoreSpace({ spaceId }) {
    await root('DELETE', `/spaces/${spaceId}`)
    const { status } = await root('POST', `/admin/deleted-spaces/${spaceId}:restore`)
    return { status, resourceId: spaceId }
  },
  async removeSuperuser() {
    const userId = await made('/admin/superuser', person('qx-super-3'), 'userId')
    const { status } = await root('DELETE', `/admin/superuser/${userId}`)
    return { status, resourceId: userId }
  },
  async createWorkspace({ spaceId }) {
    const { status, body } = await root('POST', `/spaces/${spaceId}/mkflw-workspaces`, workspaceInput)
    return { status, resourceId: body.workspaceId }
  },
  async updateWorkspace({ spaceId }) {
    const id = await made(`/spaces/${spaceId}/mkflw-workspaces`, workspaceInput, 'workspaceId')
    const { status } = await root('PATCH', `/spaces/${spaceId}/mkflw-workspaces/${id}`, { clusterName: 'd' })
    return { status, resourceId: id }
  },
  async deleteWorkspace({ spaceId }) {
    const id = await made(`/spaces/${spaceId}/mkflw-workspaces`, workspaceInput, 'workspaceId')
    const { status } = await root('DELETE', `/spaces/${spaceId}/mkflw-workspaces/${id}`)
    return { status, resourceId: id }
  },
  async createCdhLink({ spaceId }) {
    const { status, body } = await root('POST', `/spaces/${spaceId}/cdh-links`, linkInput)
    return { status, resourceId: body.cdhWorkspaceId }
  },
  async updateCdhLink({ spaceId }) {
    const id = await made(`/spaces/${spaceId}/cdh-links`, linkInput, 'cdhWorkspaceId')
    const { status } = await root('PATCH', `/spaces/${spaceId}/cdh-links/${id}`, { stage: 'Prod' })
    return { status, resourceId: id }
  },
  async deleteCdhLink({ spaceId }) {
    const id = await made(`/spaces/${spaceId}/cdh-links`, linkInput, 'cdhWorkspaceId')
    const { status } = await root('DELETE', `/spaces/${spaceId}/cdh-links/${id}`)
    return { status, resourceId: id }
  },
  async createApiKey({ spaceId }) {
    const { status, body } = await root('POST', `/spaces/${spaceId}/apikeys`, { name: 'k' })
    return { status, resourceId: body.apiKeyId, secrets: [body.apiKeyValue] }
  },
  async updateApiKey({ spaceId, apiKeyId }) {
    const { status } = await root('PATCH', `/spaces/${spaceId}/apikeys/${apiKeyId}`, { monthlyBudget: 5 })
    return { status, resourceId: apiKeyId }
  },
  async rotateApiKey({ spaceId, apiKeyId, ownerToken }) {
    const { status, body } = await root(
      'POST',
      `/spaces/${spaceId}/apikeys/${apiKeyId}:rotate`,
      {},
      ownerToken,
    )
    return { status, resourceId: apiKeyId, secrets: [body.apiKeyValue] }
  },
  async revokeApiKey({ spaceId, apiKeyId, ownerToken }) {
    const { status } = await root('DELETE', `/spaces/${spaceId}/apikeys/${apiKeyId}`, undefined, ownerToken)
    return { status, resourceId: apiKeyId }
  },
  async setSpaceBudget({ spaceId }) {
    const { status } = await root('PUT', `/spaces/${spaceId}/budget`, { monthlyBudget: 5 })
    return { status, resourceId: spaceId }
  },
  async createInvitation({ spaceId }) {
    const input = { mailAddress: 'i@example.test', role: 'member' }
    const { status, body } = await root('POST', `/spaces/${spaceId}/invitations`, input)
    return { status, resourceId: body.invitationId, secrets: [body.token] }
  },
  async approveInvitation({ spaceId, ownerToken }) {
    const input = { mailAddress: 'i@example.test', role: 'member' }
    const asked = await root('POST', `/spaces/${spaceId}/invitations`, input, ownerToken)
    const id = asked.body.invitationId
    const { status, body } = await root('POST', `/spaces/${spaceId}/invitations/${id}:approve`)
    return { status, resourceId: id, secrets: [body.token] }
  },
  async revokeInvitation({ spaceId }) {
    const input = { mailAddress: 'i@example.test', role: 'member' }
    const id = await made(`/spaces/${spaceId}/invitations`, input, 'invitationId')
    const { status } = await root('DELETE', `/spaces/${spaceId}/invitations/${id}`)
    return { status, resourceId: id }
  },
  async acceptInvitation({ spaceId }) {
    const input = { mailAddress: 'i@example.test', role: 'member' }
    const { body } = await root('POST', `/spaces/${spaceId}/invitations`, input)
    const token = await platform.userToken({ qxId: 'qx-invited', name: 'Invited' })
    const { status } = await root('POST', '/invitations:accept', { token: body.token }, token)
    return { status, resourceId: body.invitationId, secrets: [body.token] }
  },
  async createCostEntry({ spaceId }) {
    const token = await clientWith(platform, 'cost-client', { [spaceId]: 'member' })
    const input = { day: '2026-01-01', service: 's', calculatedCost: 1.5, currency: 'USD' }
    const { status, body } = await root('POST', `/spaces/${spaceId}/costs`, input, token)
    return { status, resourceId: body.entryId }
  },
  async createClient() {
    const { status, body } = await root('POST', '/admin/clients', { name: 'c', environment: 'int' })
    return { status, resourceId: body.clientId }
  },
  async updateClient() {
    const id = await made('/admin/clients', { name: 'c', environment: 'int' }, 'clientId')
    const { status } = await root('PATCH', `/admin/clients/${id}`, { superuser: true })
    return { status, resourceId: id }
  },
  async approveClient() {
    const id = await made('/admin/clients', { name: 'c', environment: 'int' }, 'clientId')
    const { status, body } = await root('POST', `/admin/clients/${id}:approve`)
    return { status, resourceId: id, secrets: [body.clientSecret] }
  },
  async rotateClientSecret() {
    const id = await made('/admin/clients', { name: 'c', environment: 'int' }, 'clientId')
    await root('POST', `/admin/clients/${id}:approve`)
    const { status, body } = await root('POST', `/admin/clients/${id}:rotate-secret`)
    return { status, resourceId: id, secrets: [body.clientSecret] }
  },
  async deleteClient() {
    const id = await made('/admin/clients', { name: 'c', environment: 'int' }, 'clientId')
    const { status } = await root('DELETE', `/admin/clients/${id}`)
    return { status, resourceId: id }
  },
} satisfies { [name in Operation]?: (stage: Stage) => Promise<Done> }

async function changingOperations(): Promise<string[]> {
  const document = (await (await fetch(`${platform.url}/portal/openapi.json`)).json()) as {
    paths: Record<string, Record<string, { operationId: string }>>
  }
  return Object.values(document.paths)
    .flatMap((methods) => Object.entries(methods))
    .filter(([method]) => method !== 'get')
    .map(([, { operationId }]) => operationId)
}

test('every operation that changes something leaves its row, and no secret', {
  timeout: 180_000,
}, async () => {
  const operations = await changingOperations()
  expect(Object.keys(acts).sort()).toEqual(operations.sort())
  for (const operation of operations) {
    const stage = await platform.space()
    const done = await acts[operation]?.(stage)
    if (done === undefined) throw new Error(`${operation} is not walked`)
    expect([200, 201, 204], operation).toContain(done.status)
    const { body } = await root('GET', `/admin/audit?operation=${operation}&resourceId=${done.resourceId}`)
    // Adding a member may make a person too, and that is a row of its own.
    expect(body.data, operation).not.toHaveLength(0)
    const [entry] = body.data
    expect(entry.actor.id, operation).not.toBe('')
    expect(entry.origin.requestId, operation).not.toBe('')
    expect(entry.before !== null || entry.after !== null, operation).toBe(true)
    const stored = await platform.pool.query('SELECT audit_entries::text AS text FROM portal.audit_entries')
    const all = stored.rows.map(({ text }) => text).join('\n')
    for (const secret of done.secrets ?? []) expect(all, operation).not.toContain(secret)
  }
  const { rows } = await platform.pool.query(
    `SELECT encode(key_hash, 'hex') AS hash FROM portal.api_keys
      UNION ALL SELECT encode(hash, 'hex') FROM identity.client_secrets`,
  )
  const stored = await platform.pool.query('SELECT audit_entries::text AS text FROM portal.audit_entries')
  const all = stored.rows.map(({ text }) => text).join('\n')
  for (const { hash } of rows) expect(all).not.toContain(hash)
})

test('an entry says who, what, before, after and from where', async () => {
  const { spaceId, ownerToken } = await platform.space({ owner: 'qx-auditor' })
  await platform.call('PATCH', `/portal/v1/spaces/${spaceId}`, {
    token: ownerToken,
    body: { description: 'after' },
    headers: { 'user-agent': 'audit-test/1.0', 'x-request-id': 'audit-request-1' },
  })
  const { body } = await root('GET', `/spaces/${spaceId}/audit?operation=updateSpace`)
  expect(body.data).toEqual([
    {
      auditId: expect.any(String),
      at: expect.stringMatching(/Z$/),
      actor: { kind: 'user', id: 'qx-auditor', name: 'Name of qx-auditor' },
      operation: 'updateSpace',
      spaceId,
      resourceType: 'space',
      resourceId: spaceId,
      before: expect.objectContaining({ description: '', version: 1 }),
      after: expect.objectContaining({ description: 'after', version: 2, modifiedById: 'qx-auditor' }),
      origin: { address: '127.0.0.1', requestId: 'audit-request-1', userAgent: 'audit-test/1.0' },
    },
  ])
})

test('what fails or changes nothing leaves no row', async () => {
  const { spaceId, ownerToken, apiKeyId } = await platform.space()
  const count = async () =>
    (await root('GET', `/spaces/${spaceId}/audit?limit=1`)).body.pagination.totalRecords
  await root('DELETE', `/spaces/${spaceId}/apikeys/${apiKeyId}`, undefined, ownerToken)
  const before = await count()
  await root('DELETE', `/spaces/${spaceId}/apikeys/${apiKeyId}`, undefined, ownerToken)
  await root('PATCH', `/spaces/${spaceId}`, { spaceName: '' }, ownerToken)
  await root('POST', `/spaces/${spaceId}/cdh-links`, linkInput)
  expect(await count()).toBe(before + 1)
  expect((await root('POST', `/spaces/${spaceId}/cdh-links`, linkInput)).status).toBe(409)
  expect(await count()).toBe(before + 1)
})

describe('reading', () => {
  test('a space’s owner sees what was done in it, newest first, paged and filtered', async () => {
    const { spaceId, ownerToken, memberToken } = await platform.space({ owner: 'qx-reader' })
    const other = await platform.space()
    const read = async (query: string) =>
      (await root('GET', `/spaces/${spaceId}/audit?${query}`, undefined, ownerToken)).body
    for (const spaceName of ['one', 'two'])
      await root('PATCH', `/spaces/${spaceId}`, { spaceName }, ownerToken)
    const all = await read('')
    expect(all.data.map((entry: { operation: string }) => entry.operation)).toEqual([
      'updateSpace',
      'updateSpace',
      'createApiKey',
      'addSpaceUser',
      'addSpaceUser',
      'createSpace',
    ])
    expect(all.data[0].after.spaceName).toBe('two')
    expect(new Set(all.data.map((entry: { spaceId: string }) => entry.spaceId))).toEqual(new Set([spaceId]))
    expect((await read('limit=2&page=2')).data).toEqual(all.data.slice(2, 4))
    expect((await read('operation=addSpaceUser')).data).toHaveLength(2)
    expect((await read('actor=qx-reader')).data).toHaveLength(2)
    const at = encodeURIComponent(all.data[1].at as string)
    expect((await read(`from=${at}&operation=updateSpace`)).data).toHaveLength(2)
    expect((await read(`to=2020-01-01T00:00:00Z`)).data).toEqual([])
    expect((await root('GET', `/spaces/${spaceId}/audit`)).status).toBe(200)
    for (const token of [memberToken, other.ownerToken]) {
      expect((await root('GET', `/spaces/${spaceId}/audit`, undefined, token)).status).toBe(403)
    }
  })

  test.each(['from=yesterday', 'to=2031-12-31T23:59:60Z', 'limit=0'])('refuses ?%s', async (query) => {
    const { spaceId } = await platform.space()
    expect((await root('GET', `/spaces/${spaceId}/audit?${query}`)).status).toBe(400)
    expect((await root('GET', `/admin/audit?${query}`)).status).toBe(400)
  })

  test('times may have any offset, and a page any number', async () => {
    const { spaceId } = await platform.space()
    for (const path of [`/spaces/${spaceId}/audit`, '/admin/audit']) {
      const read = async (query: string) => (await root('GET', `${path}?limit=5&${query}`)).body.data.length
      expect(await read(`from=${encodeURIComponent('2020-01-01T00:00:00+23:59')}`)).toBeGreaterThan(0)
      expect(await read(`to=${encodeURIComponent('2020-01-01T00:00:00-16:00')}`)).toBe(0)
      expect(await read(`from=${encodeURIComponent('0000-01-01T00:00:00+23:59')}`)).toBeGreaterThan(0)
      expect(await read(`to=${encodeURIComponent('9999-12-31T23:59:59-23:59')}`)).toBeGreaterThan(0)
      expect(await read(`page=${Number.MAX_SAFE_INTEGER}`)).toBe(0)
      expect((await root('GET', `${path}?limit=1000&page=${Number.MAX_SAFE_INTEGER}`)).status).toBe(200)
      expect((await root('GET', `${path}?limit=5&page=9007199254740992`)).status).toBe(400)
    }
  })

  test('what belongs to no space is there for superusers, the first start too', async () => {
    const operations = async (query: string) =>
      (await root('GET', `/admin/audit?${query}`)).body.data as { operation: string; actor: object }[]
    expect((await operations('actor=system')).map(({ operation }) => operation)).toContain(
      'makeSuperuserClient',
    )
    const { spaceId } = await platform.space()
    const userId = await userIdOf(platform, spaceId, 'owner')
    const input = { ...person('qx-known'), role: 'member' }
    await root('POST', `/spaces/${spaceId}/users`, input)
    const elsewhere = await platform.space()
    await root('POST', `/spaces/${elsewhere.spaceId}/users`, { ...input, name: 'Renamed from afar' })
    expect(userId).not.toBe('')
    const renamed = (await root('GET', '/admin/audit?operation=addSpaceUser&limit=2')).body.data
    expect(renamed.map((entry: { resourceType: string }) => entry.resourceType).sort()).toEqual([
      'member',
      'person',
    ])
  })
})

test.each([
  "UPDATE portal.audit_entries SET actor_id = 'nobody'",
  'DELETE FROM portal.audit_entries',
  'TRUNCATE portal.audit_entries',
])('the database refuses %s', async (statement) => {
  const count = async () =>
    (await platform.pool.query('SELECT count(*) FROM portal.audit_entries')).rows[0].count
  const before = await count()
  await expect(platform.pool.query(statement)).rejects.toThrow('append-only')
  const client = await platform.pool.connect()
  await client.query('SET session_replication_role = replica')
  await expect(client.query(statement)).rejects.toThrow('append-only')
  await client.query('RESET session_replication_role')
  client.release()
  expect(await count()).toBe(before)
})

test('it outlives its space', async () => {
  const { spaceId } = await platform.space()
  await platform.pool.query('DELETE FROM portal.spaces WHERE space_id = $1', [spaceId])
  const { body } = await root('GET', `/admin/audit?resourceId=${spaceId}`)
  expect(body.data).toHaveLength(1)
})
