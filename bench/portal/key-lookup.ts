/** What it costs to know an API key again, as the gateway does for each call, against hashing the key alone. */
import { hash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createIdentity } from '@atrium/identity'
import { createMasterKey } from '@atrium/kernel/crypto'
import { createNotifications, createPool } from '@atrium/kernel/db'
import { createJobs } from '@atrium/kernel/jobs'
import { createLogger } from '@atrium/kernel/log'
import { createMetrics } from '@atrium/kernel/metrics'
import { auditLog, createPortal } from '@atrium/portal'
import { freePort, prepareTestDatabases, TEST_CREDENTIALS } from '@atrium/testing'
import { parseConfig } from '../../apps/server/src/config.ts'
import { startPlatform } from '../../apps/server/src/platform.ts'

const LOOKUPS = 2_000_000
const log = createLogger({ level: 'error' })
let apiKey = ''
let databaseUrl = ''
const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-bench-'))
const env = {
  ...TEST_CREDENTIALS,
  ATRIUM_LOG_LEVEL: 'error',
  ATRIUM_SANDBOX: 'on',
  ATRIUM_PROBE_LOCAL_MODELS: 'false',
  ATRIUM_DATA_DIR: dataDir,
  ATRIUM_PORT: String(await freePort()),
}
const config = parseConfig(env)

const prepared = await prepareTestDatabases(async (urls) => {
  databaseUrl = urls.databaseUrl
  const platform = await startPlatform(config, { ...urls, log })
  const token = await platform.identity.mintUserToken({ qxId: TEST_CREDENTIALS.ATRIUM_BOOTSTRAP_USER })
  const post = async (at: string, body: object): Promise<Record<string, string>> => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(`${platform.url}/portal/v1/spaces${at}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    return (await answer.json()) as Record<string, string>
  }
  const { spaceId = '' } = await post('', { spaceName: 'bench', appId: 'APP-1' })
  apiKey = (await post(`/${spaceId}/apikeys`, { name: 'bench' })).apiKeyValue ?? ''
  await platform.close()
})

const pool = createPool(databaseUrl, { max: 4, applicationName: 'bench', log })
const notifications = createNotifications({ url: databaseUrl, log })
const deps = {
  pool,
  log,
  notifications,
  jobs: createJobs({ url: databaseUrl, log, runsJobs: false }),
  metrics: createMetrics({ processMetrics: false }),
  masterKey: createMasterKey(Buffer.from(TEST_CREDENTIALS.ATRIUM_MASTER_KEY, 'base64')),
  publicUrl: config.publicUrl,
  dataDir,
}
const identity = await createIdentity({ ...deps, audit: auditLog, env: config.identity })
const portal = await createPortal({
  ...deps,
  env: config.portal,
  environmentName: 'bench',
  verifyToken: identity.verifyToken,
  identityClients: identity.clients,
  mail: identity.mail,
})

async function microsecondsEach(run: () => unknown): Promise<number> {
  const began = performance.now()
  for (let n = 0; n < LOOKUPS; n++) await run()
  return ((performance.now() - began) / LOOKUPS) * 1000
}

if ((await portal.keys.findKey(apiKey)) === undefined) throw new Error('the key is not known')
const bare = (): string => hash('sha256', apiKey)
await microsecondsEach(bare)
const hashing = await microsecondsEach(bare)
await microsecondsEach(() => portal.keys.findKey(apiKey))
const lookup = await microsecondsEach(() => portal.keys.findKey(apiKey))

console.log(`| Per call, ${LOOKUPS.toLocaleString('en')} calls one after the other | µs |
|---|---|
| hashing the key alone (SHA-256) | ${hashing.toFixed(2)} |
| finding the key: owner, limits, budget (goal 20) | ${lookup.toFixed(2)} |`)

await portal.close()
await identity.close()
await notifications.close()
await pool.end()
await prepared.close()
await rm(dataDir, { recursive: true, force: true })
