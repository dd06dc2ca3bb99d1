import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { Act, AuditChange } from '@atrium/access'
import { createIdentity, identityEnv, identityMigrations } from '@atrium/identity'
import { parseEnv } from '@atrium/kernel/config'
import { createMasterKey } from '@atrium/kernel/crypto'
import { createNotifications, createPool, MigrationSession, migrate } from '@atrium/kernel/db'
import { createHttpServer } from '@atrium/kernel/http'
import { createJobs } from '@atrium/kernel/jobs'
import { Closers } from '@atrium/kernel/lifecycle'
import { createLogger } from '@atrium/kernel/log'
import { createMetrics } from '@atrium/kernel/metrics'
import { createCaller, freePort, observe } from '@atrium/testing'
import { inject } from 'vitest'

export const REALM = '/auth/oauth2/realms/root/realms/machine2machine'
export const MASTER_KEY = Buffer.alloc(32, 3)
const silent = createLogger({ level: 'silent' })
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

async function onServer(statement: string): Promise<void> {
  const pool = createPool(databaseUrl('postgres'), { max: 1, applicationName: 'test', log: silent })
  await pool.query(statement)
  await pool.end()
}

function databaseUrl(name: string): string {
  const url = new URL(inject('databaseAdminUrl'))
  url.pathname = `/${name}`
  return url.href
}

/** An empty database with identity's schema. */
export async function createTestDatabase() {
  const name = `identity_${process.pid}_${Math.random().toString(36).slice(2, 10)}`
  await onServer(`CREATE DATABASE ${name}`)
  const url = databaseUrl(name)
  const pool = createPool(url, { max: 2, applicationName: 'test', log: silent })
  {
    await using session = new MigrationSession(url, { log: silent })
    await migrate(session, [identityMigrations])
  }
  return {
    url,
    pool,
    async [Symbol.asyncDispose]() {
      await pool.end()
      await onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    },
  }
}

export interface IdentityServerOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly masterKey?: Buffer
  /** More that are accepted. */
  readonly formerKeys?: readonly Buffer[]
  /** A free one by default. */
  readonly port?: number
  /** A second process on one database has the first one's address, as behind a load balancer. */
  readonly publicUrl?: string
  readonly corsOrigins?: readonly string[]
  readonly trustedProxies?: readonly string[]
}

/** Identity as one process runs it: its own pool, listener and HTTP server. */
export async function startIdentityServer(databaseUrl: string, options: IdentityServerOptions = {}) {
  const closers = new Closers()
  const lines: string[] = []
  /** What the portal's log would get. */
  const entries: { act: Act; change: AuditChange }[] = []
  const log = createLogger({ level: 'debug', destination: { write: (line) => void lines.push(line) } })
  const dataDir = await mkdtemp(path.join(tmpdir(), 'identity-'))
  closers.add('folder', () => rm(dataDir, { recursive: true }))
  const pool = createPool(databaseUrl, { max: 4, applicationName: 'identity', log })
  closers.add('pool', () => pool.end())
  let uses = 0
  pool.on('acquire', () => void uses++)
  const notifications = createNotifications({ url: databaseUrl, log })
  closers.add('notifications', () => notifications.close())
  const metrics = createMetrics({ processMetrics: false })
  const port = options.port ?? (await freePort())
  const url = `http://127.0.0.1:${port}`
  try {
    const identity = await createIdentity({
      pool,
      log,
      notifications,
      jobs: createJobs({ url: databaseUrl, log, runsJobs: false }),
      metrics,
      masterKey: createMasterKey(options.masterKey ?? MASTER_KEY, options.formerKeys),
      publicUrl: options.publicUrl ?? url,
      dataDir,
      audit: { record: async (_trx, act, change) => void entries.push({ act, change }) },
      env: parseEnv(identityEnv, options.env ?? {}),
    })
    closers.add('identity', () => identity.close())
    const app = await createHttpServer({
      log,
      metrics,
      corsOrigins: options.corsOrigins ?? [],
      bodyLimit: 1_048_576,
      trustedProxies: options.trustedProxies ?? [],
      https: false,
    })
    // Sign-in goes through browsers and OAuth clients, so its answers are noted where they leave.
    app.addHook('onResponse', async (request, reply) => {
      const { operationId } = request.routeOptions.config
      if (operationId !== undefined) observe('auth', operationId, reply.statusCode)
    })
    await identity.mount(app)
    await app.listen({ port, host: '127.0.0.1' })
    closers.add('server', () => app.close())
    const call = createCaller(url)
    const postForm = (place: string, fields: Record<string, string> | string, headers = {}) =>
      call('POST', `${REALM}${place}`, {
        headers: { ...FORM, ...headers },
        body: typeof fields === 'string' ? fields : new URLSearchParams(fields).toString(),
      })
    return {
      url,
      identity,
      metrics,
      lines,
      entries,
      /** How often a connection was taken from the pool: at least once a statement or transaction. */
      databaseUses: () => uses,
      call,
      postForm,
      /** A token by form credentials. */
      async token(clientId: string, secret: string): Promise<string> {
        const answer = await postForm('/access_token', grant(clientId, secret))
        if (answer.status !== 200) throw new Error(JSON.stringify(answer.body))
        return answer.body.access_token as string
      },
      [Symbol.asyncDispose]: () => closers.close(),
    }
  } catch (error) {
    await closers.close()
    throw error
  }
}

export const grant = (clientId: string, secret: string) => ({
  grant_type: 'client_credentials',
  scope: 'machine2machine',
  client_id: clientId,
  client_secret: secret,
})

export const basic = (clientId: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(secret)}`).toString('base64')}`,
})

/** Waits until `check` holds. On a busy machine that takes as long as it takes; a test that hangs ends by its own limit. */
export async function eventually(check: () => Promise<boolean>): Promise<void> {
  while (!(await check())) await delay(10)
}
