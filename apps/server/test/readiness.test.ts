import { createHttpServer } from '@atrium/kernel/http'
import { createLogger } from '@atrium/kernel/log'
import { createMetrics } from '@atrium/kernel/metrics'
import { sharedTestPlatform, startTestPlatform } from '@atrium/testing'
import { expect, test } from 'vitest'
import { mountHealth } from '../src/health.ts'

test('the process has public probes of its own', async () => {
  const platform = await sharedTestPlatform()
  for (const headers of [{}, { authorization: 'nonsense' }]) {
    const alive = await platform.call('GET', '/healthz', { headers, unchecked: true })
    expect([alive.status, alive.body]).toEqual([200, { status: 'alive' }])
    const ready = await platform.call('GET', '/readyz', { headers, unchecked: true })
    expect([ready.status, ready.body]).toEqual([200, { status: 'ready', checks: { database: 'ok' } }])
    expect(ready.headers.get('cache-control')).toBe('no-store')
  }
})

test('a database that answers with a refusal is no outage: the process is not ready', async () => {
  const platform = await sharedTestPlatform()
  await using lonely = await startTestPlatform()
  const ready = () => lonely.call('GET', '/readyz', { unchecked: true })
  const name = new URL(lonely.databaseUrl).pathname.slice(1)
  await platform.pool.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  await platform.pool.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
    name,
  ])
  await expect.poll(async () => (await ready()).status).toBe(503)
  expect((await ready()).body).toEqual({
    status: 'not ready',
    checks: { database: 'failed' },
    error: { code: 503, message: 'These do not answer: database' },
  })
  expect((await lonely.call('GET', '/healthz', { unchecked: true })).status).toBe(200)
  await platform.pool.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
  await expect.poll(async () => (await ready()).status).toBe(200)
})

test('while the server drains it lives and is not ready, whatever its database does', async () => {
  const app = await createHttpServer({
    log: createLogger({ level: 'silent' }),
    metrics: createMetrics({ processMetrics: false }),
    corsOrigins: [],
    bodyLimit: 1024,
    trustedProxies: [],
    https: false,
  })
  const platform = await sharedTestPlatform()
  const pool = {
    query: platform.pool.query.bind(platform.pool),
    outage: { isAway: false, lastedMs: 0, staleMs: 0 },
  }
  mountHealth(app, { pool, isDraining: () => true })
  const answer = await app.inject({ url: '/readyz' })
  expect(answer.statusCode).toBe(503)
  expect(answer.json()).toEqual({
    status: 'not ready',
    error: { code: 503, message: 'The server is shutting down' },
  })
  expect((await app.inject({ url: '/healthz' })).statusCode).toBe(200)
})
