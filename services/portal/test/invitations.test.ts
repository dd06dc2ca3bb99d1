import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Cast, createCast, UNKNOWN_ID, userIdOf } from './cast.ts'
import { startMailServer } from './mail-server.ts'

let platform: TestPlatform
let cast: Cast
beforeAll(async () => {
  platform = await startTestPlatform()
  cast = await createCast(platform)
})
afterAll(() => platform.close())

const pathOf = (spaceId = cast.home.spaceId) => `/portal/v1/spaces/${spaceId}/invitations`
const invite = (mailAddress: string, role = 'member', token = cast.tokens.owner) =>
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
      createdBy: { qxId: 'qx-olga' },
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
      mailAddress: 'New.Person@example.test',
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
    const { body } = await invite('somebody.else@example.test', 'owner')
    const refused = await acceptAs('qx-stranger-known', body.token)
    expect(refused.status).toBe(200)
    const other = await invite('somebody.else.again@example.test', 'owner')
    const known = await acceptAs('qx-max', other.body.token)
    expect([known.status, known.body.error.message]).toEqual([403, expect.stringContaining('another mail')])
    // Letters of either case are one address.
    const upper = await invite('SOMEBODY.ELSE@example.test')
    expect((await acceptAs('qx-stranger-known', upper.body.token)).status).toBe(409)
    expect((await list(`?search=somebody.else.again`)).data[0].status).toBe('Pending')
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

test('where mail is configured, the token goes out by mail alone', async () => {
  const server = await startMailServer()
  await using mailing = await startTestPlatform({ env: server.env })
  const { spaceId, ownerToken } = await mailing.space()
  const send = () =>
    mailing.call('POST', pathOf(spaceId), {
      token: ownerToken,
      body: { mailAddress: 'invited@example.test', role: 'member' },
    })
  server.refuse(true)
  expect((await send()).status).toBe(502)
  const none = await mailing.call('GET', pathOf(spaceId), { token: ownerToken })
  expect(none.body.data).toEqual([])
  server.refuse(false)
  const sent = await send()
  expect(sent.body.delivery).toBe('mail')
  expect(sent.body).not.toHaveProperty('token')
  const token = /\/invitations\/accept#token=([\w-]+)/.exec(server.mails[0]?.text ?? '')?.[1]
  const accepted = await mailing.call('POST', '/portal/v1/invitations:accept', {
    token: await mailing.userToken({ qxId: 'qx-invited', name: 'Invited' }),
    body: { token },
  })
  expect(accepted.status).toBe(200)
  await server.close()
})
