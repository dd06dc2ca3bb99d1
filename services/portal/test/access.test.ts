import { sharedTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import type { portalAccess } from '../src/access.ts'
import { type Caller, type Cast, createCast, UNKNOWN_ID } from './cast.ts'

let platform: TestPlatform
let cast: Cast
beforeAll(async () => {
  platform = await sharedTestPlatform()
  cast = await createCast(platform)
})

interface Call {
  readonly method: string
  /** Of the space in question, so that each call is made for a known and for an unknown one. */
  readonly path: (spaceId: string) => string
  readonly body?: unknown
  readonly headers?: Record<string, string>
}

const space = (rest: string) => (spaceId: string) => `/portal/v1/spaces/${spaceId}${rest}`
const fixed = (path: string) => () => path

/** One call of every operation; those that would change something name a child that does not exist, or lack a body. */
const calls: Record<keyof typeof portalAccess, Call> = {
  getHealth: { method: 'GET', path: fixed('/portal/health') },
  getLiveness: { method: 'GET', path: fixed('/portal/liveness') },
  getReadiness: { method: 'GET', path: fixed('/portal/readiness') },
  getFeatureFlags: { method: 'GET', path: fixed('/portal/v1/feature-flags') },
  getFeatureFlagHealth: { method: 'GET', path: fixed('/portal/v1/feature-flags/health') },
  listSpaces: { method: 'GET', path: fixed('/portal/v1/spaces') },
  createSpace: { method: 'POST', path: fixed('/portal/v1/spaces'), body: {} },
  getSpace: { method: 'GET', path: space('') },
  updateSpace: { method: 'PATCH', path: space(''), body: {} },
  // A version that there never is: the space must live on.
  deleteSpace: { method: 'DELETE', path: space(''), headers: { 'if-match': '"9999"' } },
  listDeletedSpaces: { method: 'GET', path: fixed('/portal/v1/admin/deleted-spaces') },
  restoreSpace: { method: 'POST', path: fixed(`/portal/v1/admin/deleted-spaces/${UNKNOWN_ID}:restore`) },
  listSpaceUsers: { method: 'GET', path: space('/users') },
  addSpaceUser: { method: 'POST', path: space('/users'), body: {} },
  updateSpaceUser: { method: 'PATCH', path: space(`/users/${UNKNOWN_ID}`), body: { role: 'member' } },
  removeSpaceUser: { method: 'DELETE', path: space(`/users/${UNKNOWN_ID}`) },
  listSuperusers: { method: 'GET', path: fixed('/portal/v1/admin/superuser') },
  createSuperuser: { method: 'POST', path: fixed('/portal/v1/admin/superuser'), body: {} },
  removeSuperuser: { method: 'DELETE', path: fixed(`/portal/v1/admin/superuser/${UNKNOWN_ID}`) },
  updateSuperuser: { method: 'PATCH', path: fixed(`/portal/v1/admin/superuser/${UNKNOWN_ID}`), body: {} },
  listWorkspaces: { method: 'GET', path: space('/mkflw-workspaces') },
  createWorkspace: { method: 'POST', path: space('/mkflw-workspaces'), body: {} },
  updateWorkspace: { method: 'PATCH', path: space(`/mkflw-workspaces/${UNKNOWN_ID}`), body: {} },
  deleteWorkspace: { method: 'DELETE', path: space(`/mkflw-workspaces/${UNKNOWN_ID}`) },
  listCdhLinks: { method: 'GET', path: space('/cdh-links') },
  createCdhLink: { method: 'POST', path: space('/cdh-links'), body: {} },
  updateCdhLink: { method: 'PATCH', path: space(`/cdh-links/${UNKNOWN_ID}`), body: {} },
  deleteCdhLink: { method: 'DELETE', path: space(`/cdh-links/${UNKNOWN_ID}`) },
  listApiKeys: { method: 'GET', path: space('/apikeys') },
  createApiKey: { method: 'POST', path: space('/apikeys'), body: {} },
  revokeApiKey: { method: 'DELETE', path: space(`/apikeys/${UNKNOWN_ID}`) },
  updateApiKey: { method: 'PATCH', path: space(`/apikeys/${UNKNOWN_ID}`), body: {} },
  rotateApiKey: { method: 'POST', path: space(`/apikeys/${UNKNOWN_ID}:rotate`) },
  getSpaceBudget: { method: 'GET', path: space('/budget') },
  setSpaceBudget: { method: 'PUT', path: space('/budget'), body: {} },
  listSpaceAudit: { method: 'GET', path: space('/audit?limit=5') },
  listAudit: { method: 'GET', path: fixed('/portal/v1/admin/audit?limit=5') },
  listClients: { method: 'GET', path: fixed('/portal/v1/admin/clients') },
  createClient: { method: 'POST', path: fixed('/portal/v1/admin/clients'), body: {} },
  getClient: { method: 'GET', path: fixed('/portal/v1/admin/clients/nobody') },
  updateClient: { method: 'PATCH', path: fixed('/portal/v1/admin/clients/nobody'), body: {} },
  deleteClient: { method: 'DELETE', path: fixed('/portal/v1/admin/clients/nobody') },
  approveClient: { method: 'POST', path: fixed('/portal/v1/admin/clients/nobody:approve') },
  rotateClientSecret: { method: 'POST', path: fixed('/portal/v1/admin/clients/nobody:rotate-secret') },
  listInvitations: { method: 'GET', path: space('/invitations') },
  createInvitation: { method: 'POST', path: space('/invitations'), body: {} },
  approveInvitation: { method: 'POST', path: space(`/invitations/${UNKNOWN_ID}:approve`) },
  listAllInvitations: { method: 'GET', path: fixed('/portal/v1/admin/invitations') },
  revokeInvitation: { method: 'DELETE', path: space(`/invitations/${UNKNOWN_ID}`) },
  acceptInvitation: { method: 'POST', path: fixed('/portal/v1/invitations:accept'), body: {} },
  getSpacePermissions: { method: 'GET', path: (id) => `/portal/v1/permissions/${id}/qx-max` },
  getUserPermissions: { method: 'GET', path: fixed('/portal/v1/permissions/qx-max') },
  getCostReport: { method: 'GET', path: space('/costs/report?month=2026-01') },
  createCostEntry: { method: 'POST', path: space('/costs'), body: {} },
  listSpacesWithWorkflows: { method: 'GET', path: fixed('/portal/v1/spaces-with-workflows') },
}

/** Who is let through, by operation; everybody else is refused with 403, or 401 where noted. Written by hand, from the spec. */
const superusers: Caller[] = ['superuser', 'superuserClient']
const owners: Caller[] = ['owner', 'ownerClient']
const readers: Caller[] = [...superusers, ...owners, 'member', 'memberClient', 'key']
const everybody: Caller[] = [...readers, 'otherOwner', 'stranger', 'otherKey', 'strangerClient']
const keys: Caller[] = ['key', 'otherKey']
const users: Caller[] = ['superuser', 'owner', 'member', 'otherOwner', 'stranger']
const clients: Caller[] = ['superuserClient', 'ownerClient', 'memberClient', 'strangerClient']

const allowed: Record<keyof typeof portalAccess, { may: Caller[]; unauthorized?: Caller[] }> = {
  getHealth: { may: everybody },
  getLiveness: { may: everybody },
  getReadiness: { may: everybody },
  getFeatureFlags: { may: everybody },
  getFeatureFlagHealth: { may: everybody },
  listSpaces: { may: everybody },
  createSpace: { may: superusers },
  getSpace: { may: readers },
  updateSpace: { may: owners },
  deleteSpace: { may: superusers },
  listDeletedSpaces: { may: superusers },
  restoreSpace: { may: superusers },
  listSpaceUsers: { may: readers },
  addSpaceUser: { may: superusers },
  updateSpaceUser: { may: superusers },
  removeSpaceUser: { may: superusers },
  listSuperusers: { may: superusers },
  createSuperuser: { may: superusers },
  updateSuperuser: { may: superusers },
  removeSuperuser: { may: superusers },
  listWorkspaces: { may: readers },
  createWorkspace: { may: superusers },
  updateWorkspace: { may: superusers },
  deleteWorkspace: { may: superusers },
  listCdhLinks: { may: readers },
  createCdhLink: { may: superusers },
  updateCdhLink: { may: superusers },
  deleteCdhLink: { may: superusers },
  listApiKeys: { may: readers },
  createApiKey: { may: superusers },
  revokeApiKey: { may: owners },
  updateApiKey: { may: [...owners, ...superusers] },
  rotateApiKey: { may: owners },
  getSpaceBudget: { may: readers },
  setSpaceBudget: { may: superusers },
  listSpaceAudit: { may: [...owners, ...superusers] },
  listAudit: { may: superusers },
  listClients: { may: superusers },
  createClient: { may: superusers },
  getClient: { may: superusers },
  updateClient: { may: superusers },
  deleteClient: { may: superusers },
  approveClient: { may: superusers },
  rotateClientSecret: { may: superusers },
  listInvitations: { may: [...owners, ...superusers] },
  createInvitation: { may: [...owners, ...superusers] },
  approveInvitation: { may: superusers },
  listAllInvitations: { may: superusers },
  revokeInvitation: { may: [...owners, ...superusers] },
  acceptInvitation: { may: users },
  getSpacePermissions: { may: [...clients, 'superuser', 'member'] },
  getUserPermissions: { may: [...clients, 'superuser', 'member'] },
  getCostReport: { may: ['superuser', 'owner', 'member'], unauthorized: keys },
  createCostEntry: { may: ['superuserClient', 'ownerClient', 'memberClient'], unauthorized: keys },
  listSpacesWithWorkflows: { may: clients, unauthorized: [...users, ...keys] },
}

const publicOperations = ['getHealth', 'getLiveness', 'getReadiness', 'getFeatureFlagHealth']

describe.each(Object.keys(calls) as (keyof typeof calls)[])('%s', (operation) => {
  const { method, path, body, headers: fixedHeaders } = calls[operation]
  const send = (spaceId: string, token?: string, headers = {}) =>
    platform.call(method, path(spaceId), {
      body,
      headers: { ...fixedHeaders, ...headers },
      ...(token === undefined ? {} : { token }),
    })

  test('every caller', async () => {
    const { may, unauthorized = [] } = allowed[operation]
    for (const caller of everybody) {
      const answer = await send(cast.home.spaceId, cast.tokens[caller])
      const message = `${operation} by ${caller}: ${JSON.stringify(answer.body)}`
      if (may.includes(caller)) expect([401, 403], message).not.toContain(answer.status)
      else expect(answer.status, message).toBe(unauthorized.includes(caller) ? 401 : 403)
      expect(answer.status, message).toBeLessThan(500)
      if (answer.status >= 400) {
        expect(answer.body).toEqual({ error: { code: answer.status, message: expect.any(String) } })
      }
    }
  })

  test('without a credential, and with broken ones', async () => {
    if (publicOperations.includes(operation)) return
    const [head = '', payload = ''] = cast.tokens.owner.split('.')
    const none = Buffer.from('{"alg":"none"}').toString('base64url')
    const credentials: Record<string, string>[] = [
      {},
      { authorization: '' },
      { authorization: 'Basic b3duZXI6c2VjcmV0' },
      { authorization: 'Bearer' },
      { authorization: 'Bearer a b' },
      { authorization: 'Bearer not-a-key' },
      { authorization: `Bearer ${UNKNOWN_ID}` },
      { authorization: `Bearer ${none}.${payload}.` },
      { authorization: `Bearer ${head}.${payload}.AAAA` },
    ]
    for (const headers of credentials) {
      const answer = await send(cast.home.spaceId, undefined, headers)
      expect(answer.status, `${operation} with ${JSON.stringify(headers)}`).toBe(401)
      expect(answer.body).toEqual({ error: { code: 401, message: expect.any(String) } })
      expect(answer.headers.get('www-authenticate')).toContain('Bearer')
    }
  })

  test('an unknown space is told before the lack of rights', async () => {
    if (path('a') === path('b') || operation === 'getSpacePermissions') return
    const { unauthorized = [] } = allowed[operation]
    const kinds: [Caller, readonly Caller[]][] = [
      ['stranger', users],
      ['strangerClient', clients],
      ['superuser', users],
      ['superuserClient', clients],
    ]
    for (const [caller, kind] of kinds) {
      // A kind of credential that is never right is refused for that, whatever the space.
      const isWrongKind = !allowed[operation].may.some((one) => kind.includes(one))
      const expected = isWrongKind ? (unauthorized.includes(caller) ? 401 : 403) : 404
      expect((await send(UNKNOWN_ID, cast.tokens[caller])).status, `${operation} by ${caller}`).toBe(expected)
    }
  })
})

test('ids that are no UUID: 400 where the contract says "invalid id format", else 404', async () => {
  const { spaceId } = cast.home
  const { superuser, owner } = cast.tokens
  const cases: [string, string, string, unknown, number][] = [
    ['GET', '/v1/spaces/nonsense', superuser, undefined, 404],
    ['PATCH', '/v1/spaces/nonsense', owner, {}, 404],
    ['POST', '/v1/spaces/nonsense/users', superuser, {}, 404],
    ['PATCH', `/v1/spaces/${spaceId}/users/nonsense`, superuser, { role: 'owner' }, 400],
    ['DELETE', `/v1/spaces/${spaceId}/users/nonsense`, superuser, undefined, 404],
    ['DELETE', `/v1/spaces/${spaceId}/apikeys/nonsense`, owner, undefined, 400],
    ['DELETE', `/v1/spaces/nonsense/apikeys/${UNKNOWN_ID}`, owner, undefined, 400],
    ['PATCH', `/v1/spaces/${spaceId}/mkflw-workspaces/nonsense`, superuser, {}, 400],
    ['DELETE', `/v1/spaces/${spaceId}/mkflw-workspaces/nonsense`, superuser, undefined, 400],
    ['DELETE', `/v1/spaces/nonsense/mkflw-workspaces/${UNKNOWN_ID}`, superuser, undefined, 400],
    ['PATCH', `/v1/spaces/${spaceId}/cdh-links/nonsense`, superuser, {}, 400],
    ['DELETE', `/v1/spaces/${spaceId}/cdh-links/nonsense`, superuser, undefined, 400],
    ['DELETE', `/v1/spaces/nonsense/cdh-links/${UNKNOWN_ID}`, superuser, undefined, 400],
    ['PATCH', '/v1/admin/superuser/nonsense', superuser, {}, 400],
    ['DELETE', '/v1/admin/superuser/nonsense', superuser, undefined, 400],
    ['GET', '/v1/permissions/nonsense/qx-max', superuser, undefined, 404],
  ]
  for (const [method, path, token, body, expected] of cases) {
    const answer = await platform.call(method, `/portal${path}`, { token, body })
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBe(expected)
  }
})
