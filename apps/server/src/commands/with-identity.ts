import { createIdentity, type Identity } from '@atrium/identity'
import { loadMasterKey } from '@atrium/kernel/crypto'
import { createNotifications, createPool, migrate } from '@atrium/kernel/db'
import { Closers } from '@atrium/kernel/lifecycle'
import { createLogger } from '@atrium/kernel/log'
import { createMetrics } from '@atrium/kernel/metrics'
import { parseConfig } from '../config.ts'
import { joinDatabase } from '../database.ts'
import { migrationSets } from '../migrations.ts'

/**
 * Runs `act` on identity beside a running platform, or on its database when none runs; what changes
 * holds in every process within a second.
 */
export async function withIdentity(
  env: NodeJS.ProcessEnv,
  act: (identity: Identity) => Promise<void>,
): Promise<void> {
  const config = parseConfig(env)
  const log = createLogger({ level: 'warn', fd: 2 })
  await using closers = new Closers()
  const database = await joinDatabase(config)
  closers.add('database', () => database.close())
  const pool = createPool(database.url, { max: 2, applicationName: 'atrium-command', log })
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
  await act(identity)
}
