import { sharedTestPlatform, startTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import { type Cast, createCast, UNKNOWN_ID, userIdOf } from './cast.ts'
import { startMailServer } from './mail-server.ts'

let platform: TestPlatform
let cast: Cast
beforeAll(async () => {
  platform = await sharedTestPlatform()
  cast = await createCast(platform)
})

const pathOf = (spaceId = cast.home.spaceId) => `/portal/v1/spaces/${spaceId}/invitations`
const invite = (mailAddress: string, role = 'member', token = cast.tokens.superuser) =>
  platform.call('POST', pathOf(), { token, body: { mailAddress, role } })
const acceptAs = async (qxId: string, token: string) =>
  platform.call('POST', '/portal/v1/invitations:accept', {
    token: await platform.userToken({ qxId, name: `Name of ${qxId}` }),
    body: { token },
  })
const revoke = (id: string, options: { spaceId?: string; headers?: Record<string, string> } = {}) =>
  platform.call('DELETE', `${pathOf(options.spaceId)}/${id}`, {
    token: cast.tokens.superuser,
    headers: options.headers ?? {},
  })
const list = async (query = '') =>
  (await platform.call('GET', `${pathOf()}${query}`, { token: cast.tokens.owner })).body

describe('an invitation', () => {
  test('makes whoever has its token a member, once', async () => {
    const invited = await invite('New.Person@example.test')
    expect(invited.status).toBe(201)
    expect(invited.body).toMatchObject({
      spaceId: cast.home.spaceId,
      mailAddress: 'New.Person@example.test',
      role: 'member',
      status: 'Pending',
      delivery: 'answer',
      token: expect.stringMatching(/^[\w-]{90,}$/),
      createdBy: { qxId: platform.superuser.qxId },
      approvedBy: platform.superuser.qxId,
    })
    const days = (Date.parse(invited.body.expiresAt) - Date.parse(invited.body.createdAt)) / 86_400_000
    expect(days).toBeCloseTo(7, 2)
    expect(JSON.stringify(await list())).not.toContain(invited.body.token)

    const accepted = await acceptAs('qx-new', invited.body.token)
    expect(accepted.status).toBe(200)
    expect(accepted.body).toEqual({
      spaceId: cast.home.spaceId,
      spaceName: expect.any(String),
      userId: await userIdOf(platform, cast.home.spaceId, 'qx-new'),
      role: 'member',
    })
    const token = await platform.userToken({ qxId: 'qx-new', name: 'New' })
    const space = await platform.call('GET', `/portal/v1/spaces/${cast.home.spaceId}`, { token })
    expect(space.body.user.role).toBe('member')
    const members = await platform.call('GET', `/portal/v1/spaces/${cast.home.spaceId}/users?search=qx-new`, {
      token,
    })
    expect(members.body.data[0]).toMatchObject({
      name: 'Name of qx-new',
      // A token that was handed over proves no address.
      mailAddress: '',
    })
    const again = await acceptAs('qx-second', invited.body.token)
    expect([again.status, again.body.error.message]).toEqual([410, expect.stringContaining('been used')])
    expect((await list('?search=new.person')).data[0]).toMatchObject({
      status: 'Accepted',
      acceptedBy: 'qx-new',
      acceptedAt: expect.stringMatching(/Z$/),
    })
  })

  test('is used by one of many who try at once', async () => {
    const { body } = await invite('race@example.test')
    const answers = await Promise.all(
      ['a', 'b', 'c', 'd'].map((who) => acceptAs(`qx-race-${who}`, body.token)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 410, 410, 410])
  })

  test('is not for somebody who is known by another address', async () => {
    const other = await invite('somebody.else@example.test', 'owner')
    const known = await acceptAs('qx-max', other.body.token)
    expect([known.status, known.body.error.message]).toEqual([403, expect.stringContaining('another mail')])
    // Letters of either case are one address.
    const upper = await invite('QX-MAX@example.test')
    expect((await acceptAs('qx-max', upper.body.token)).status).toBe(409)
    expect((await list(`?search=somebody.else`)).data[0].status).toBe('Pending')
  })

  test('that was altered, or is from elsewhere, is none', async () => {
    const { body } = await invite('forged@example.test')
    const forged = `${body.token.slice(0, -2)}${body.token.endsWith('AA') ? 'BB' : 'AA'}`
    for (const token of [forged, 'nonsense', cast.tokens.owner.slice(0, 300)]) {
      const answer = await acceptAs('qx-forger', token)
      expect([answer.status, answer.body.error.message]).toEqual([400, expect.stringContaining('body.token')])
    }
  })

  test('expires', async () => {
    const { body } = await invite('late@example.test')
    await platform.pool.query(
      "UPDATE portal.invitations SET expires_at = now() - interval '1 s' WHERE invitation_id = $1",
      [body.invitationId],
    )
    const late = await acceptAs('qx-late', body.token)
    expect([late.status, late.body.error.message]).toEqual([410, expect.stringContaining('expired')])
    expect((await list('?status=Expired')).data[0]).toMatchObject({ mailAddress: 'late@example.test' })
  })

  test('ends with its space', async () => {
    const { spaceId } = await platform.space()
    const answer = await platform.call('POST', pathOf(spaceId), {
      token: cast.tokens.superuser,
      body: { mailAddress: 'x@example.test', role: 'owner' },
    })
    await platform.pool.query('DELETE FROM portal.spaces WHERE space_id = $1', [spaceId])
    expect((await acceptAs('qx-gone', answer.body.token)).status).toBe(410)
  })
})

describe('an owner’s invitation', () => {
  const approve = (id: string, headers: Record<string, string> = {}, token = cast.tokens.superuser) =>
    platform.call('POST', `${pathOf()}/${id}:approve`, { token, headers })

  test.each(['owner', 'ownerClient'] as const)('by the %s waits for a superuser', async (caller) => {
    const asked = await invite(`asked-by-${caller}@example.test`, 'member', cast.tokens[caller])
    expect([asked.status, asked.body.status]).toEqual([201, 'Requested'])
    for (const field of ['token', 'delivery', 'approvedAt', 'approvedBy']) {
      expect(asked.body).not.toHaveProperty(field)
    }
    const { invitationId } = asked.body
    for (const refused of ['owner', 'ownerClient', 'member', 'stranger', 'key'] as const) {
      expect((await approve(invitationId, {}, cast.tokens[refused])).status, refused).toBe(403)
    }
    const wrong = '/portal/v1/admin/invitations?sortBy=token'
    expect((await platform.call('GET', wrong, { token: platform.superuser.token })).status).toBe(400)
    const waiting = await platform.call('GET', '/portal/v1/admin/invitations?status=Requested&search=asked', {
      token: cast.tokens.superuser,
    })
    expect(waiting.body.data).toEqual([asked.body])
    await platform.pool.query(
      "UPDATE portal.invitations SET expires_at = now() + interval '1 h' WHERE invitation_id = $1",
      [invitationId],
    )
    expect((await approve(invitationId, { 'if-match': '"9"' })).status).toBe(412)
    const approved = await approve(invitationId, { 'if-match': asked.headers.get('etag') ?? '' })
    expect(approved.status).toBe(200)
    expect(approved.body).toMatchObject({
      status: 'Pending',
      delivery: 'answer',
      token: expect.any(String),
      approvedBy: platform.superuser.qxId,
    })
    // The seven days begin with the approval.
    expect(Date.parse(approved.body.expiresAt) - Date.now()).toBeGreaterThan(6 * 86_400_000)
    expect((await approve(invitationId)).status).toBe(409)
    expect((await acceptAs(`qx-asked-${caller}`, approved.body.token)).status).toBe(200)
    expect((await approve(invitationId)).status).toBe(409)
  })

  test('is refused by revoking it, and cannot be approved when it has expired', async () => {
    const refused = (await invite('refused@example.test', 'owner', cast.tokens.owner)).body.invitationId
    expect((await revoke(refused)).status).toBe(204)
    const late = (await invite('too-late@example.test', 'owner', cast.tokens.owner)).body.invitationId
    await platform.pool.query(
      "UPDATE portal.invitations SET expires_at = now() - interval '1 s' WHERE invitation_id = $1",
      [late],
    )
    for (const [id, status] of [
      [refused, 'Revoked'],
      [late, 'Expired'],
    ]) {
      const answer = await approve(id)
      expect([answer.status, answer.body.error.message]).toEqual([409, expect.stringContaining(status)])
    }
    expect((await approve(UNKNOWN_ID)).status).toBe(404)
    expect((await approve('not-a-uuid')).status).toBe(400)
    const elsewhere = await platform.call('POST', `${pathOf(cast.other.spaceId)}/${late}:approve`, {
      token: cast.tokens.superuser,
    })
    expect(elsewhere.status).toBe(404)
  })

  test('goes out at once where the operator says so', async () => {
    await using direct = await startTestPlatform({ env: { ATRIUM_OWNER_INVITATIONS: 'direct' } })
    const { spaceId, ownerToken } = await direct.space()
    const answer = await direct.call('POST', pathOf(spaceId), {
      token: ownerToken,
      body: { mailAddress: 'direct@example.test', role: 'member' },
    })
    expect(answer.body).toMatchObject({ status: 'Pending', delivery: 'answer', token: expect.any(String) })
  })
})

describe('revoking', () => {
  test('ends it, again is fine, and an accepted one cannot be', async () => {
    const { body } = await invite('revoked@example.test')
    expect((await revoke(body.invitationId, { headers: { 'if-match': '"5"' } })).status).toBe(412)
    expect((await revoke(body.invitationId, { headers: { 'if-match': '"1"' } })).status).toBe(204)
    expect((await revoke(body.invitationId)).status).toBe(204)
    const answer = await acceptAs('qx-revoked', body.token)
    expect([answer.status, answer.body.error.message]).toEqual([410, expect.stringContaining('revoked')])
    const accepted = await invite('accepted@example.test')
    await acceptAs('qx-accepted', accepted.body.token)
    expect((await revoke(accepted.body.invitationId)).status).toBe(409)
  })

  test('400, 404', async () => {
    expect((await revoke('not-a-uuid')).status).toBe(400)
    expect((await revoke(UNKNOWN_ID)).status).toBe(404)
    const { body } = await invite('mine@example.test')
    expect((await revoke(body.invitationId, { spaceId: cast.other.spaceId })).status).toBe(404)
  })
})

test('the list is filtered, searched, sorted and paged', async () => {
  const fields = ['invitationId', 'spaceId', 'mailAddress', 'role', 'status', 'expiresAt', 'acceptedAt']
  for (const field of [...fields, 'acceptedBy', 'revokedAt', 'createdAt', 'updatedAt']) {
    expect((await list(`?sortBy=${field}&limit=2`)).data).toHaveLength(2)
  }
  const pending = (await list('?status=Pending')).data as { status: string }[]
  expect(new Set(pending.map(({ status }) => status))).toEqual(new Set(['Pending']))
  const refused = await platform.call('GET', `${pathOf()}?sortBy=token`, { token: cast.tokens.owner })
  expect(refused.status).toBe(400)
})

test.each([{}, { mailAddress: 'x', role: 'member' }, { mailAddress: 'x@y.test', role: 'none' }])(
  'refuses %j',
  async (body) => {
    const { status } = await platform.call('POST', pathOf(), { token: cast.tokens.owner, body })
    expect(status).toBe(400)
  },
)

test('where mail is configured, the token goes out by mail alone, and proves the address', async () => {
  const server = await startMailServer()
  await using mailing = await startTestPlatform({ env: server.env })
  const { spaceId, ownerToken } = await mailing.space()
  const asked = await mailing.call('POST', pathOf(spaceId), {
    token: ownerToken,
    body: { mailAddress: 'invited@example.test', role: 'member' },
  })
  expect([asked.body.status, server.mails]).toEqual(['Requested', []])
  const approve = () =>
    mailing.call('POST', `${pathOf(spaceId)}/${asked.body.invitationId}:approve`, {
      token: mailing.superuser.token,
    })
  server.refuse(true)
  expect((await approve()).status).toBe(502)
  const own = await mailing.call('POST', pathOf(spaceId), {
    token: mailing.superuser.token,
    body: { mailAddress: 'other@example.test', role: 'member' },
  })
  expect(own.status).toBe(502)
  const waiting = await mailing.call('GET', pathOf(spaceId), { token: ownerToken })
  expect(waiting.body.data).toEqual([asked.body])
  server.refuse(false)
  const sent = await approve()
  expect(sent.body).toMatchObject({ status: 'Pending', delivery: 'mail' })
  expect(sent.body).not.toHaveProperty('token')
  expect(server.mails[0]).toMatchObject({ to: expect.stringContaining('invited@example.test') })
  const token = /\/people\/invitation\?token=([\w-]+)/.exec(server.mails[0]?.text ?? '')?.[1]
  const accepted = await mailing.call('POST', '/portal/v1/invitations:accept', {
    token: await mailing.userToken({ qxId: 'qx-invited', name: 'Invited' }),
    body: { token },
  })
  expect(accepted.status).toBe(200)
  const members = await mailing.call('GET', `/portal/v1/spaces/${spaceId}/users?search=qx-invited`, {
    token: ownerToken,
  })
  expect(members.body.data[0].mailAddress).toBe('invited@example.test')
  await server.close()
})
