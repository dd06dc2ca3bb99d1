import { createLogger } from '@atrium/kernel/log'
import { parseConfig } from '../config.ts'
import { joinDatabase } from '../database.ts'
import { bringUpToDate } from '../migrations.ts'

/** Applies what is missing and says what it applied. */
export async function migrateCommand(env: NodeJS.ProcessEnv): Promise<void> {
  const config = parseConfig(env)
  const database = await joinDatabase(config)
  try {
    const done = await bringUpToDate(
      database,
      createLogger({ level: config.platform.ATRIUM_LOG_LEVEL, fd: 2 }),
    )
    process.stdout.write(
      done.length === 0
        ? 'The database is up to date.\n'
        : `${done.map((name) => `applied ${name}`).join('\n')}\n`,
    )
  } finally {
    await database.close()
  }
}
