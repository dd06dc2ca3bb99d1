import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'

/** Two processes on one database: an id means one principal in both, for ever. */
let here: TestPlatform
let there: TestPlatform
beforeAll(async () => {
  const env = { ATRIUM_PUBLIC_URL: 'http://atrium.test' }
  here = await startTestPlatform({ env })
  there = await startTestPlatform({ env: { ...env, DATABASE_URL: here.databaseUrl } })
})
afterAll(async () => {
  await there?.close()
  await here?.close()
})

const CLIENTS = '/portal/v1/admin/clients'
const asSuperuser = (platform: TestPlatform, method: string, path: string, body?: unknown) =>
  platform.call(method, path, { token: here.superuser.token, body })

async function approvedClient(more: object = {}) {
  const { body } = await asSuperuser(here, 'POST', CLIENTS, { name: 'robot', environment: 'int', ...more })
  const approved = await asSuperuser(here, 'POST', `${CLIENTS}/${body.clientId}:approve`)
  return { clientId: body.clientId as string, secret: approved.body.clientSecret as string }
}

const register = (platform: TestPlatform, clientId: string) =>
  asSuperuser(platform, 'POST', CLIENTS, { name: 'next', environment: 'int', clientId })

const status = async (platform: TestPlatform, token: string) =>
  (await platform.call('GET', '/portal/v1/spaces', { token })).status

describe('a deleted client', () => {
  test('ends with its tokens in every process, and nobody is ever registered by its id', async () => {
    const { clientId, secret } = await approvedClient({ clientId: 'once', superuser: true })
    const token = await here.clientToken(clientId, secret)
    expect([await status(here, token), await status(there, token)]).toEqual([200, 200])
    expect((await asSuperuser(here, 'DELETE', `${CLIENTS}/${clientId}`)).status).toBe(204)
    for (const platform of [here, there]) {
      await expect.poll(() => status(platform, token), { timeout: 10_000, interval: 20 }).toBe(401)
      const again = await register(platform, clientId)
      expect(again.status).toBe(409)
      expect(again.body.error.message).toContain('it is not given again')
      expect((await asSuperuser(platform, 'POST', `${CLIENTS}/${clientId}:approve`)).status).toBe(404)
      expect(await status(platform, token)).toBe(401)
    }
  })

  test('also when it was a registration only, and also for whoever sets up clients by themselves', async () => {
    await register(here, 'never-approved')
    expect((await asSuperuser(here, 'DELETE', `${CLIENTS}/never-approved`)).status).toBe(204)
    expect((await register(there, 'never-approved')).status).toBe(409)
    const put = there.registerClient({ clientId: 'never-approved', clientSecret: 'x'.repeat(43) })
    await expect(put).rejects.toMatchObject({ status: 409, code: 'client_id_spent' })
  })

  test('leaves no token to another of its id, whatever the database says of the id', async () => {
    const { clientId, secret } = await approvedClient({ clientId: 'restored' })
    const token = await here.clientToken(clientId, secret)
    expect([await status(here, token), await status(there, token)]).toEqual([200, 200])
    // As if it had been deleted and registered again before ids were kept.
    await here.pool.query(
      `update identity.clients set created_at = now() + interval '10 seconds' where client_id = $1`,
      [clientId],
    )
    for (const platform of [here, there]) {
      await expect.poll(() => status(platform, token), { timeout: 10_000, interval: 20 }).toBe(401)
    }
  })

  test('a disabled one may come back, without the tokens it had', async () => {
    const { clientId, secret } = await approvedClient()
    const token = await here.clientToken(clientId, secret)
    await asSuperuser(here, 'PATCH', `${CLIENTS}/${clientId}`, { status: 'Disabled' })
    for (const platform of [here, there]) {
      await expect.poll(() => status(platform, token), { timeout: 10_000, interval: 20 }).toBe(401)
    }
    await asSuperuser(here, 'PATCH', `${CLIENTS}/${clientId}`, { status: 'Active' })
    for (const platform of [here, there]) {
      // Tokens name the second of their issue: one of the second of the disabling is dead too.
      const next = async () => status(platform, await here.clientToken(clientId, secret))
      await expect.poll(next, { timeout: 10_000, interval: 100 }).toBe(200)
      expect(await status(platform, token)).toBe(401)
    }
  })
})

describe('an id', () => {
  const addUser = async (platform: TestPlatform, qNumber: string) => {
    const { spaceId } = await here.space()
    return asSuperuser(platform, 'POST', `/portal/v1/spaces/${spaceId}/users`, {
      qNumber,
      name: 'Somebody',
      mailAddress: 's@example.test',
      role: 'member',
    })
  }

  test('of a person is no client’s', async () => {
    expect((await addUser(here, 'qx-person')).status).toBe(201)
    const refused = await register(there, 'qx-person')
    expect([refused.status, refused.body.error.message]).toEqual([
      409,
      'qx-person is the id of a person; a client needs another one',
    ])
    // One from before ids were claimed.
    await here.pool.query(`delete from identity.principal_ids where principal_id = 'qx-person'`)
    expect((await register(there, 'qx-person')).status).toBe(409)
    expect((await addUser(there, 'qx-person')).status).toBe(201)
  })

  test('of a client, also of one that is gone, is no person’s', async () => {
    await register(here, 'a-robot')
    const superuser = { qNumber: 'a-robot', name: 'R', mailAddress: 'r@example.test' }
    const other = await asSuperuser(here, 'POST', '/portal/v1/admin/superuser', {
      ...superuser,
      qNumber: 'qx-other',
    })
    const attempts = async () => [
      (await addUser(there, 'a-robot')).status,
      (await asSuperuser(there, 'POST', '/portal/v1/admin/superuser', superuser)).status,
      (
        await asSuperuser(there, 'PATCH', `/portal/v1/admin/superuser/${other.body.userId}`, {
          qNumber: 'a-robot',
        })
      ).status,
    ]
    expect(await attempts()).toEqual([409, 409, 409])
    await expect(there.userToken({ qxId: 'a-robot' })).rejects.toMatchObject({ status: 409 })
    expect((await asSuperuser(here, 'DELETE', `${CLIENTS}/a-robot`)).status).toBe(204)
    expect(await attempts()).toEqual([409, 409, 409])
  })

  test('that a client and a person want at once is given to one of them', async () => {
    const { spaceId } = await here.space()
    for (const id of ['race-1', 'race-2', 'race-3', 'race-4']) {
      const answers = await Promise.all([
        register(here, id),
        asSuperuser(there, 'POST', `/portal/v1/spaces/${spaceId}/users`, {
          qNumber: id,
          name: 'Somebody',
          mailAddress: 's@example.test',
          role: 'member',
        }),
        register(there, id),
      ])
      expect(answers.map((answer) => answer.status).sort()).toEqual([201, 409, 409])
    }
  })
})
