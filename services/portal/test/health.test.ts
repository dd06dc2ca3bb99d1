import { createHttpServer } from '@atrium/kernel/http'
import { createLogger } from '@atrium/kernel/log'
import { createMetrics } from '@atrium/kernel/metrics'
import { sharedTestPlatform, startTestPlatform, type TestPlatform } from '@atrium/testing'
import { beforeAll, expect, test, vi } from 'vitest'
import type { PortalContext } from '../src/context.ts'
import { createDatabaseCheck } from '../src/domain/health.ts'
import { healthRoutes } from '../src/routes/health.ts'

let platform: TestPlatform
beforeAll(async () => {
  platform = await sharedTestPlatform()
})

test('health names the state of the database and the accepted credentials', async () => {
  const { status, body, headers } = await platform.call('GET', '/portal/health')
  expect(status).toBe(200)
  expect(body).toMatchObject({
    status: 'healthy',
    authentication: 'JWT, API keys',
    checks: { database: 'ok' },
  })
  expect(body.uptime).toBeGreaterThan(0)
  expect(body.timestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  expect(typeof body.environment).toBe('string')
  expect(headers.get('cache-control')).toBe('no-store')
})

test('liveness and readiness', async () => {
  expect((await platform.call('GET', '/portal/liveness')).body).toMatchObject({ status: 'alive' })
  const ready = await platform.call('GET', '/portal/readiness')
  expect(ready.status).toBe(200)
  expect(ready.body).toMatchObject({ status: 'ready', checks: { database: 'ok' } })
})

test('probes need no credential and ignore a wrong one', async () => {
  for (const path of ['/portal/health', '/portal/liveness', '/portal/readiness']) {
    expect((await platform.call('GET', path, { headers: { authorization: 'nonsense' } })).status).toBe(200)
  }
})

test('a probe that fails itself says no more than any other failure', async () => {
  const clock = vi.spyOn(Date.prototype, 'toISOString').mockImplementation(() => {
    throw new Error('the clock is broken')
  })
  const answer = await platform.call('GET', '/portal/liveness').finally(() => clock.mockRestore())
  expect(answer.status).toBe(500)
  expect(answer.body.error.message).toMatch(/^Internal error; quote request /)
})

test('without its database the portal lives, is not ready, and says why', async () => {
  await using lonely = await startTestPlatform()
  const name = new URL(lonely.databaseUrl).pathname.slice(1)
  await platform.pool.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`)
  await platform.pool.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [
    name,
  ])
  await expect.poll(async () => (await lonely.call('GET', '/portal/readiness')).status).toBe(503)
  const { body } = await lonely.call('GET', '/portal/readiness')
  expect(body).toMatchObject({
    status: 'not ready',
    checks: { database: 'failed' },
    error: { code: 503, message: 'The database does not answer' },
  })
  const health = await lonely.call('GET', '/portal/health')
  expect(health.status).toBe(200)
  expect(health.body).toMatchObject({ status: 'degraded', checks: { database: 'failed' } })
  expect((await lonely.call('GET', '/portal/liveness')).status).toBe(200)
  const failing = await lonely.call('GET', '/portal/v1/spaces', { token: lonely.superuser.token })
  expect(failing.status).toBe(500)
  expect(failing.body.error.message).toMatch(/^Internal error; quote request /)
  await platform.pool.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`)
  await expect.poll(async () => (await lonely.call('GET', '/portal/readiness')).status).toBe(200)
})

test('while the server drains it is not ready', async () => {
  const log = createLogger({ level: 'silent' })
  const app = await createHttpServer({
    log,
    metrics: createMetrics({ processMetrics: false }),
    corsOrigins: [],
    bodyLimit: 1024,
    trustedProxies: [],
    https: false,
  })
  const checkDatabase = async () => true
  const ctx = { checkDatabase, isDraining: () => true } as PortalContext
  healthRoutes(app, ctx, () => ({ config: {}, onRequest: async () => {} }))
  const answer = await app.inject({ url: '/readiness' })
  expect(answer.statusCode).toBe(503)
  expect(answer.json()).toMatchObject({
    status: 'not ready',
    error: { message: 'The server is shutting down' },
  })
  expect((await app.inject({ url: '/liveness' })).statusCode).toBe(200)
})

test('probes share one query, also when it hangs', async () => {
  let queries = 0
  const hanging = {
    query: () => {
      queries++
      return new Promise(() => {})
    },
  }
  const check = createDatabaseCheck(hanging)
  expect(await Promise.all([check(), check(), check()])).toEqual([false, false, false])
  expect(queries).toBe(1)
})
