import { setTimeout as delay } from 'node:timers/promises'
import { createPool } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import { startTestPlatform, type TestPlatform } from '@atrium/testing'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ApiKeyDirectory, hashKey } from '../src/domain/api-key-directory.ts'
import { type AccessQueries, createAccessQueries } from '../src/queries/access.ts'
import { UNKNOWN_ID } from './cast.ts'

let platform: TestPlatform
let pool: ReturnType<typeof createPool>
beforeAll(async () => {
  platform = await startTestPlatform()
  pool = createPool(platform.databaseUrl, {
    max: 2,
    applicationName: 'test',
    log: createLogger({ level: 'silent' }),
  })
})
afterAll(async () => {
  await pool.end()
  await platform.close()
})

function countingDirectory() {
  let queries = 0
  let used = 0
  const real = createAccessQueries(pool, 'USD')
  const counted: AccessQueries = {
    ...real,
    keyByHash: (hash) => {
      queries++
      return real.keyByHash(hash)
    },
  }
  const changes = { onChange: () => {}, commit: () => Promise.reject(new Error('not here')) }
  const directory = new ApiKeyDirectory({
    queries: counted,
    changes,
    outage: pool.outage,
    onUse: () => used++,
  })
  return { directory, queries: () => queries, used: () => used }
}

test('a key in use costs one query per 0.8 s, whatever the number of calls', async () => {
  const { apiKey, apiKeyId, spaceId } = await platform.space()
  const { directory, queries, used } = countingDirectory()
  const found = await Promise.all(Array.from({ length: 100 }, () => directory.find(apiKey)))
  expect(queries()).toBe(1)
  expect(found[99]).toMatchObject({ status: 'valid', principal: { kind: 'key', keyId: apiKeyId, spaceId } })
  const start = performance.now()
  for (let n = 0; n < 20_000; n++) await directory.find(apiKey)
  expect(queries()).toBeLessThanOrEqual(2 + (performance.now() - start) / 800)
  expect(used()).toBe(20_100)
  await delay(850)
  await directory.find(apiKey)
  expect(queries()).toBeGreaterThanOrEqual(2)
})

test('unknown keys are remembered too, and malformed ones never asked about', async () => {
  const { directory, queries } = countingDirectory()
  for (let n = 0; n < 5; n++) expect((await directory.find(UNKNOWN_ID)).status).toBe('unknown')
  expect(queries()).toBe(1)
  for (const key of ['', 'x', 'a.b', `${UNKNOWN_ID} `, '../../etc'])
    expect((await directory.find(key)).status).toBe('unknown')
  expect(queries()).toBe(1)
})

test('a revocation of which nothing is heard holds within one second', async () => {
  const { apiKey, apiKeyId } = await platform.space()
  const { directory } = countingDirectory()
  expect((await directory.find(apiKey)).status).toBe('valid')
  await pool.query("UPDATE portal.api_keys SET status = 'Revoked', revoked_at = now() WHERE key_id = $1", [
    apiKeyId,
  ])
  const revokedAt = performance.now()
  while ((await directory.find(apiKey)).status === 'valid') await delay(10)
  expect(performance.now() - revokedAt).toBeLessThan(1000)
})

test('a reading that was under way when the key was revoked is not kept', async () => {
  const { apiKey, spaceId, apiKeyId } = await platform.space()
  let forget: (subject: string | undefined) => void = () => {}
  const reading = Promise.withResolvers<void>()
  const real = createAccessQueries(pool, 'USD')
  const slow: AccessQueries = {
    ...real,
    keyByHash: async (hash) => {
      const row = await real.keyByHash(hash)
      await reading.promise
      return row
    },
  }
  const changes = {
    onChange: (listener: typeof forget) => {
      forget = listener
    },
    commit: () => Promise.reject(new Error('not here')),
  }
  const directory = new ApiKeyDirectory({ queries: slow, changes, outage: pool.outage, onUse: () => {} })
  const before = directory.find(apiKey)
  await delay(50)
  const path = `/portal/v1/spaces/${spaceId}`
  await platform.pool.query(
    "UPDATE portal.api_keys SET status = 'Revoked', revoked_at = now() WHERE key_id = $1",
    [apiKeyId],
  )
  expect((await platform.call('GET', path, { token: platform.superuser.token })).body.apiKeysCount).toBe(0)
  forget(`key:${hashKey(apiKey)}`)
  reading.resolve()
  expect((await before).status).toBe('valid')
  expect((await directory.find(apiKey)).status).toBe('revoked')
})
