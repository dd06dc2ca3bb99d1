import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cast, createCast, UNKNOWN_ID } from './cast.ts'

let platform: TestPlatform
let cast: Cast
beforeAll(async () => {
  platform = await startTestPlatform()
  cast = await createCast(platform)
})
afterAll(() => platform.close())

const inSpace = (userId: string, token: string, spaceId = cast.home.spaceId) =>
  platform.call('GET', `/portal/v1/permissions/${spaceId}/${userId}`, { token })
const everywhere = (userId: string, token: string) =>
  platform.call('GET', `/portal/v1/permissions/${userId}`, { token })

test('permissions in a space', async () => {
  const { strangerClient, member } = cast.tokens
  const owner = await inSpace('qx-olga', strangerClient)
  expect(owner.status).toBe(200)
  expect(owner.headers.get('cache-control')).toBe('private, max-age=5')
  expect(owner.body).toEqual({
    roles: ['owner'],
    isSuperuser: false,
    isSpaceOwner: true,
    isSpaceMember: true,
  })
  expect((await inSpace('qx-max', member)).body).toEqual({
    roles: ['member'],
    isSuperuser: false,
    isSpaceOwner: false,
    isSpaceMember: true,
  })
  expect((await inSpace(platform.superuser.qxId, strangerClient)).body).toEqual({
    roles: [],
    isSuperuser: true,
    isSpaceOwner: false,
    isSpaceMember: false,
  })
  const elsewhere = await inSpace('qx-max', strangerClient, cast.other.spaceId)
  expect(elsewhere.body).toMatchObject({ roles: [], isSpaceMember: false })
})

test('permissions everywhere', async () => {
  const { strangerClient, member } = cast.tokens
  const answer = await everywhere('qx-max', member)
  expect(answer.status).toBe(200)
  expect(answer.headers.get('cache-control')).toBe('private, max-age=5')
  expect(answer.body).toEqual({ user: { qNumber: 'qx-max', superuser: false }, authenticated: true })
  expect((await everywhere(platform.superuser.qxId, strangerClient)).body.user.superuser).toBe(true)
})

test('404 as JSON, which a policy maps to deny, and it may not be cached', async () => {
  const { superuserClient, superuser, stranger } = cast.tokens
  for (const answer of [
    await inSpace('qx-nobody', superuserClient),
    await inSpace('qx-max', superuser, UNKNOWN_ID),
    await everywhere('qx-nobody', superuserClient),
    // A stranger with a valid token is not known either.
    await everywhere('qx-stranger', stranger),
    await inSpace('qx-stranger', stranger),
  ]) {
    expect(answer.status).toBe(404)
    expect(answer.headers.get('content-type')).toContain('application/json')
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.body).toEqual({ error: { code: 404, message: expect.any(String) } })
  }
})

test('people may ask about themselves only, keys not at all', async () => {
  const { member, owner, key } = cast.tokens
  expect((await inSpace('qx-olga', member)).status).toBe(403)
  expect((await everywhere('qx-olga', member)).status).toBe(403)
  expect((await inSpace('qx-olga', owner)).status).toBe(200)
  expect((await inSpace('qx-olga', key)).status).toBe(403)
  expect((await everywhere('qx-olga', key)).status).toBe(403)
})
