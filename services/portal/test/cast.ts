import type { TestPlatform } from '@atrium/testing'

export const UNKNOWN_ID = '01890000-0000-7000-8000-000000000000'

/** A machine client with roles in some spaces. */
export async function clientWith(
  platform: TestPlatform,
  clientId: string,
  grants: Readonly<Record<string, 'owner' | 'member'>> = {},
): Promise<string> {
  const clientSecret = `${clientId}-secret-0123456789-0123456789`
  await platform.registerClient({ clientId, clientSecret })
  await platform.pool.query(
    'INSERT INTO portal.client_principals (client_id, name) VALUES ($1, $1) ON CONFLICT DO NOTHING',
    [clientId],
  )
  for (const [spaceId, role] of Object.entries(grants)) {
    await platform.pool.query(
      'INSERT INTO portal.client_grants (space_id, client_id, role) VALUES ($1, $2, $3)',
      [spaceId, clientId, role],
    )
  }
  return platform.clientToken(clientId, clientSecret)
}

/** One of each who might call: two spaces with people and keys, strangers, and clients with and without roles. */
export async function createCast(platform: TestPlatform) {
  const home = await platform.space({ owner: 'qx-olga', members: ['qx-max'] })
  const other = await platform.space()
  const [stranger, memberClient, ownerClient, strangerClient] = await Promise.all([
    platform.userToken({ qxId: 'qx-stranger', name: 'Stranger' }),
    clientWith(platform, 'member-client', { [home.spaceId]: 'member' }),
    clientWith(platform, 'owner-client', { [home.spaceId]: 'owner' }),
    clientWith(platform, 'stranger-client', { [other.spaceId]: 'owner' }),
  ])
  return {
    home,
    other,
    tokens: {
      superuser: platform.superuser.token,
      owner: home.ownerToken,
      member: home.memberToken,
      otherOwner: other.ownerToken,
      stranger,
      key: home.apiKey,
      otherKey: other.apiKey,
      superuserClient: platform.superuserClient.token,
      ownerClient,
      memberClient,
      strangerClient,
    },
  }
}

export type Cast = Awaited<ReturnType<typeof createCast>>
export type Caller = keyof Cast['tokens']

/** The id of a person in a space, by their Q number. */
export async function userIdOf(platform: TestPlatform, spaceId: string, qNumber: string): Promise<string> {
  const { body } = await platform.call('GET', `/portal/v1/spaces/${spaceId}/users?search=${qNumber}`, {
    token: platform.superuser.token,
  })
  return body.data[0].userId as string
}
