import { createIdentityPorts, type IdentityPorts } from '@atrium/identity'
import { createNotifications, createPool } from '@atrium/kernel/db'
import { AppError, OperatorError } from '@atrium/kernel/errors'
import { createJobs } from '@atrium/kernel/jobs'
import { Closers } from '@atrium/kernel/lifecycle'
import { createLogger } from '@atrium/kernel/log'
import { createMetrics } from '@atrium/kernel/metrics'
import { auditLog } from '@atrium/portal'
import { parseConfig } from '../config.ts'
import { joinDatabase } from '../database.ts'
import { bringUpToDate } from '../migrations.ts'
import { openMasterKey } from '../sealed.ts'

/**
 * Runs `act` on identity beside a running platform, or on its database when none runs; what changes
 * holds in every process within a second.
 */
export async function withIdentity(
  env: NodeJS.ProcessEnv,
  act: (identity: IdentityPorts) => Promise<void>,
): Promise<void> {
  const config = parseConfig(env)
  // What the server warns of at its start is not repeated by every command.
  const log = createLogger({ level: 'error', fd: 2 })
  await using closers = new Closers()
  const database = await joinDatabase(config)
  closers.add('database', () => database.close())
  const pool = createPool(database.url, { max: 2, applicationName: 'atrium-command', log })
  closers.add('database pool', () => pool.end())
  await bringUpToDate(database, log)
  const notifications = createNotifications({ url: database.url, log })
  closers.add('notifications', () => notifications.close())
  const jobs = createJobs({ url: database.url, log, runsJobs: false })
  closers.add('background jobs', () => jobs.close())
  await jobs.open([])
  const identity = await createIdentityPorts({
    pool,
    log,
    notifications,
    jobs,
    metrics: createMetrics({ processMetrics: false }),
    masterKey: await openMasterKey(config),
    publicUrl: config.publicUrl,
    dataDir: config.dataDir,
    audit: auditLog,
    env: config.identity,
  })
  closers.add('identity', () => identity.close())
  try {
    await act(identity)
  } catch (error) {
    // What identity refuses is the operator's mistake.
    throw error instanceof AppError ? new OperatorError(`${error.message}.`, { cause: error }) : error
  }
}
