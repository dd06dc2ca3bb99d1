import { setTimeout as delay } from 'node:timers/promises'
import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { userIdOf } from './cast.ts'

/** Two processes on one database; what one changes must hold in the other within one second. */
let here: TestPlatform
let there: TestPlatform
beforeAll(async () => {
  // One origin for both, as behind a load balancer: the issuer of tokens follows from it.
  const env = { ATRIUM_PUBLIC_URL: 'http://atrium.test' }
  here = await startTestPlatform({ env })
  there = await startTestPlatform({ env: { ...env, DATABASE_URL: here.databaseUrl } })
})
afterAll(async () => {
  await there.close()
  await here.close()
})

/** Keeps the other process busy with the credential, so that its caches are warm and stay so. */
function keepUsing(path: string, token: string) {
  let last = 0
  let stopped = false
  const loop = (async () => {
    while (!stopped) {
      last = (await there.call('GET', path, { token })).status
      await delay(5)
    }
  })()
  return {
    last: () => last,
    stop: async () => {
      stopped = true
      await loop
    },
  }
}

async function millisecondsUntil(isSo: () => boolean): Promise<number> {
  const start = performance.now()
  while (!isSo() && performance.now() - start < 3000) await delay(5)
  return performance.now() - start
}

/** Ends every listening connection again and again: notifications do not arrive while this runs. */
function breakListening() {
  let stopped = false
  const loop = (async () => {
    while (!stopped) {
      await here.pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND application_name = 'atrium-listen'`,
      )
      await delay(10)
    }
  })()
  return async () => {
    stopped = true
    await loop
  }
}

describe.each([
  ['with notifications', false],
  ['while listening is broken', true],
])('%s', (_name, isBroken) => {
  const whileBroken = async <T>(run: () => Promise<T>): Promise<T> => {
    const mend = isBroken ? breakListening() : async () => {}
    if (isBroken) await delay(50)
    try {
      return await run()
    } finally {
      await mend()
    }
  }

  test('a revoked key is refused by the other process within one second', async () => {
    const { spaceId, apiKey, apiKeyId, ownerToken } = await here.space()
    const using = keepUsing(`/portal/v1/spaces/${spaceId}`, apiKey)
    await expect.poll(using.last).toBe(200)
    const took = await whileBroken(async () => {
      const path = `/portal/v1/spaces/${spaceId}/apikeys/${apiKeyId}`
      expect((await here.call('DELETE', path, { token: ownerToken })).status).toBe(204)
      return millisecondsUntil(() => using.last() === 401)
    })
    await using.stop()
    expect(took).toBeLessThan(1000)
  })

  test('a deleted space is closed in the other process within one second', async () => {
    const { spaceId, apiKey, ownerToken } = await here.space()
    const paths: [string, string, number][] = [
      [`/portal/v1/spaces/${spaceId}`, apiKey, 401],
      ['/llm/v1/models', apiKey, 401],
      [`/agents/v1/spaces/${spaceId}/agent`, ownerToken, 404],
      [`/agents/v1/spaces/${spaceId}/agent`, here.superuser.token, 404],
    ]
    const using = paths.map(([path, token]) => keepUsing(path, token))
    for (const one of using) await expect.poll(one.last).toBe(200)
    const took = await whileBroken(async () => {
      const token = here.superuser.token
      expect((await here.call('DELETE', `/portal/v1/spaces/${spaceId}`, { token })).status).toBe(204)
      return millisecondsUntil(() => using.every((one, index) => one.last() === paths[index]?.[2]))
    })
    for (const one of using) await one.stop()
    expect(took).toBeLessThan(1000)
  })

  test('a removed member is refused by the other process within one second', async () => {
    const { spaceId, memberToken } = await here.space({ members: [`qx-removed-${isBroken}`] })
    const userId = await userIdOf(here, spaceId, `qx-removed-${isBroken}`)
    const using = keepUsing(`/portal/v1/spaces/${spaceId}`, memberToken)
    await expect.poll(using.last).toBe(200)
    const took = await whileBroken(async () => {
      const path = `/portal/v1/spaces/${spaceId}/users/${userId}`
      expect((await here.call('DELETE', path, { token: here.superuser.token })).status).toBe(204)
      return millisecondsUntil(() => using.last() === 403)
    })
    await using.stop()
    expect(took).toBeLessThan(1000)
  })

  test('a disabled client is refused by the other process within one second', async () => {
    const admin = (method: string, path: string, body?: unknown) =>
      here.call(method, `/portal/v1/admin/clients${path}`, { token: here.superuser.token, body })
    const { clientId } = (await admin('POST', '', { name: 'robot', environment: 'int' })).body
    const { clientSecret } = (await admin('POST', `/${clientId}:approve`)).body
    const using = keepUsing('/portal/v1/spaces', await here.clientToken(clientId, clientSecret))
    await expect.poll(using.last).toBe(200)
    const took = await whileBroken(async () => {
      expect((await admin('PATCH', `/${clientId}`, { status: 'Disabled' })).status).toBe(200)
      return millisecondsUntil(() => using.last() === 401)
    })
    await using.stop()
    expect(took).toBeLessThan(1000)
  })

  test('both values of a rotated key are refused by the other process once it is revoked', async () => {
    const { spaceId, apiKey, apiKeyId, ownerToken } = await here.space()
    const path = `/portal/v1/spaces/${spaceId}/apikeys/${apiKeyId}`
    const { apiKeyValue } = (await here.call('POST', `${path}:rotate`, { token: ownerToken })).body
    const using = [apiKey, apiKeyValue].map((key) => keepUsing(`/portal/v1/spaces/${spaceId}`, key))
    for (const one of using) await expect.poll(one.last).toBe(200)
    const took = await whileBroken(async () => {
      expect((await here.call('DELETE', path, { token: ownerToken })).status).toBe(204)
      return millisecondsUntil(() => using.every((one) => one.last() === 401))
    })
    for (const one of using) await one.stop()
    expect(took).toBeLessThan(1000)
  })

  test('a new key and a new member are accepted by the other process, though it had refused them', async () => {
    const { spaceId } = await here.space()
    const qxId = `qx-late-${isBroken}`
    const token = await here.userToken({ qxId, name: 'Late' })
    const using = keepUsing(`/portal/v1/spaces/${spaceId}`, token)
    await expect.poll(using.last).toBe(403)
    const took = await whileBroken(async () => {
      const body = { qNumber: qxId, name: 'Late', mailAddress: 'l@x.test', role: 'member' }
      await here.call('POST', `/portal/v1/spaces/${spaceId}/users`, { token: here.superuser.token, body })
      return millisecondsUntil(() => using.last() === 200)
    })
    await using.stop()
    expect(took).toBeLessThan(1000)
  })
})
