import { createIdentity } from '@atrium/identity'
import { loadMasterKey } from '@atrium/kernel/crypto'
import { createNotifications, createPool, migrate } from '@atrium/kernel/db'
import { Closers } from '@atrium/kernel/lifecycle'
import { createLogger } from '@atrium/kernel/log'
import { createMetrics } from '@atrium/kernel/metrics'
import { parseConfig } from '../config.ts'
import { joinDatabase } from '../database.ts'
import { migrationSets } from '../migrations.ts'

/** Prints a user token and nothing else, so that `TOKEN=$(atrium token --user …)` works. */
export async function token(
  env: NodeJS.ProcessEnv,
  options: { user: string; name?: string; lifetime?: number },
): Promise<void> {
  const config = parseConfig(env)
  const log = createLogger({ level: 'warn', fd: 2 })
  await using closers = new Closers()
  const database = await joinDatabase(config)
  closers.add('database', () => database.close())
  const pool = createPool(database.url, { max: 2, applicationName: 'atrium-token', log })
  closers.add('database pool', () => pool.end())
  await migrate(pool, migrationSets)
  const notifications = createNotifications({ url: database.url, log })
  closers.add('notifications', () => notifications.close())
  const identity = await createIdentity({
    pool,
    log,
    notifications,
    metrics: createMetrics({ processMetrics: false }),
    masterKey: await loadMasterKey({ fromEnv: config.platform.ATRIUM_MASTER_KEY, dataDir: config.dataDir }),
    publicUrl: config.publicUrl,
    dataDir: config.dataDir,
    env: config.identity,
  })
  closers.add('identity', () => identity.close())
  const minted = await identity.mintUserToken({
    qxId: options.user,
    ...(options.name === undefined ? {} : { name: options.name }),
    ...(options.lifetime === undefined ? {} : { lifetimeSeconds: options.lifetime }),
  })
  process.stdout.write(`${minted}\n`)
}
