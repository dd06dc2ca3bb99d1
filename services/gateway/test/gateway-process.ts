// A gateway in a process of its own, for tests that kill it. Arguments: database, data folder, backend, port.

import { parseEnv } from '@atrium/kernel/config'
import { createMasterKey } from '@atrium/kernel/crypto'
import { createDatabase, createNotifications, createPool, sql } from '@atrium/kernel/db'
import { createHttpServer } from '@atrium/kernel/http'
import { createJobs } from '@atrium/kernel/jobs'
import { createLogger } from '@atrium/kernel/log'
import { createMetrics } from '@atrium/kernel/metrics'
import { createGateway, gatewayEnv } from '../src/index.ts'

const [databaseUrl = '', dataDir = '', backend = '', port = ''] = process.argv.slice(2)
const log = createLogger({ level: 'error' })
const pool = createPool(databaseUrl, { max: 4, applicationName: 'gateway-test', log })
const metrics = createMetrics({ processMetrics: false })
createDatabase(pool)

const gateway = await createGateway({
  pool,
  log,
  metrics,
  notifications: createNotifications({ url: databaseUrl, log }),
  jobs: createJobs({ url: databaseUrl, log, runsJobs: false }),
  masterKey: createMasterKey(Buffer.alloc(32)),
  publicUrl: `http://127.0.0.1:${port}`,
  dataDir,
  env: parseEnv(gatewayEnv, { OPENAI_BASE_URL: backend, ATRIUM_SANDBOX: 'off' }),
  nodeEnv: 'test',
  ownPort: Number(port),
  keys: { findKey: async () => ({ keyId: 'key', spaceId: 'space', name: 'a key' }) },
  budgets: { seconds: 30, lease: async () => undefined, keep: async () => [], giveBack: async () => {} },
  costs: {
    async recordUsage(trx, rows) {
      for (const { requests, promptTokens } of rows) {
        await sql`INSERT INTO recorded (requests, tokens) VALUES (${requests}, ${promptTokens})`.execute(trx)
      }
    },
  },
})
const app = await createHttpServer({
  log,
  metrics,
  corsOrigins: [],
  bodyLimit: 1_048_576,
  trustedProxies: [],
  https: false,
})
await gateway.mount(app)
await app.listen({ port: Number(port), host: '127.0.0.1' })
process.on('SIGTERM', async () => {
  await app.close()
  await gateway.close()
  await pool.end()
  process.exit()
})
process.send?.('ready')
