import { webcrypto } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createIdentity, identityEnv, identityMigrations } from '@atrium/identity'
import { parseEnv } from '@atrium/kernel/config'
import { createMasterKey } from '@atrium/kernel/crypto'
import {
  createNotifications,
  createPool,
  MigrationSession,
  migrate,
  startEmbeddedPostgres,
} from '@atrium/kernel/db'
import { createHttpServer } from '@atrium/kernel/http'
import { createJobs } from '@atrium/kernel/jobs'
import { Closers } from '@atrium/kernel/lifecycle'
import { createLogger } from '@atrium/kernel/log'
import { createMetrics } from '@atrium/kernel/metrics'

const { subtle } = webcrypto

/** Identity alone in this process, on a database of its own; the parent process makes the load. */

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const address = probe.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      probe.close(() => resolve(port))
    })
  })

async function start() {
  const closers = new Closers()
  const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-bench-'))
  closers.add('data folder', () => rm(dataDir, { recursive: true, force: true }))
  const postgres = await startEmbeddedPostgres({ dataDir })
  closers.add('postgres', () => postgres.stop())
  const log = createLogger({ level: 'warn' })
  const pool = createPool(postgres.url, { max: 10, applicationName: 'bench', log })
  closers.add('pool', () => pool.end())
  {
    await using session = new MigrationSession(postgres.url, { log })
    await migrate(session, [identityMigrations])
  }
  const notifications = createNotifications({ url: postgres.url, log })
  closers.add('notifications', () => notifications.close())
  const metrics = createMetrics({ processMetrics: false })
  const port = await freePort()
  const identity = await createIdentity({
    pool,
    log,
    notifications,
    jobs: createJobs({ url: postgres.url, log, runsJobs: false }),
    metrics,
    masterKey: createMasterKey(Buffer.alloc(32, 1)),
    publicUrl: `http://127.0.0.1:${port}`,
    dataDir,
    audit: { record: async () => {} },
    env: parseEnv(identityEnv, {}),
  })
  closers.add('identity', () => identity.close())
  const app = await createHttpServer({
    log,
    metrics,
    corsOrigins: [],
    bodyLimit: 1_048_576,
    trustedProxies: [],
    https: false,
  })
  await identity.mount(app)
  await app.listen({ port, host: '127.0.0.1' })
  closers.add('http server', () => app.close())
  const { clientId, secret } = await identity.clients.create({ name: 'Bench', status: 'Active' })
  return { identity, closers, url: `http://127.0.0.1:${port}`, clientId, secret }
}

const { identity, closers, url, clientId, secret } = await start()

/** Microseconds per verification of a token that was verified before. */
async function measureVerify(token: string): Promise<number> {
  const rounds = 200_000
  await identity.verifyToken(token)
  const start = performance.now()
  for (let i = 0; i < rounds; i++) await identity.verifyToken(token)
  return ((performance.now() - start) * 1000) / rounds
}

/** Microseconds per first verification, signature included. */
async function measureFirstVerify(): Promise<number> {
  const tokens = await Promise.all(
    Array.from({ length: 2000 }, (_, i) => identity.mintUserToken({ qxId: `person-${i}` })),
  )
  const start = performance.now()
  for (const token of tokens) await identity.verifyToken(token)
  return ((performance.now() - start) * 1000) / tokens.length
}

/** Signatures a second, with 32 under way at any time: no token endpoint of this machine can be faster. */
async function measureSigning(): Promise<number> {
  const total = 40_000
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' }
  const { privateKey } = await subtle.generateKey(algorithm, false, ['sign'])
  const token = Buffer.alloc(400, 'x')
  let left = total
  const sign = async (): Promise<void> => {
    while (left-- > 0) await subtle.sign(algorithm, privateKey, token)
  }
  const start = performance.now()
  await Promise.all(Array.from({ length: 32 }, sign))
  return total / ((performance.now() - start) / 1000)
}

process.on('message', async (message: { ask: 'verify' | 'first' | 'sign' | 'stop'; token?: string }) => {
  if (message.ask === 'verify') process.send?.({ result: await measureVerify(message.token ?? '') })
  if (message.ask === 'first') process.send?.({ result: await measureFirstVerify() })
  if (message.ask === 'sign') process.send?.({ result: await measureSigning() })
  if (message.ask === 'stop') {
    await closers.close()
    process.disconnect()
  }
})
process.send?.({ ready: true, url, clientId, secret })
