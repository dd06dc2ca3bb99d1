import { createPool, migrate } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import { parseConfig } from '../config.ts'
import { joinDatabase } from '../database.ts'
import { migrationSets } from '../migrations.ts'

/** Applies what is missing and says what it applied. */
export async function migrateCommand(env: NodeJS.ProcessEnv): Promise<void> {
  const config = parseConfig(env)
  const database = await joinDatabase(config)
  const pool = createPool(database.url, {
    max: 2,
    applicationName: 'atrium-migrate',
    log: createLogger({ level: 'warn', fd: 2 }),
  })
  try {
    const done = await migrate(pool, migrationSets)
    process.stdout.write(
      done.length === 0
        ? 'The database is up to date.\n'
        : `${done.map((name) => `applied ${name}`).join('\n')}\n`,
    )
  } finally {
    await pool.end()
    await database.close()
  }
}
