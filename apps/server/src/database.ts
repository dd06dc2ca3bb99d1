import { lockDataDir, readDataDirOwner, readEmbeddedUrl, startEmbeddedPostgres } from '@atrium/kernel/db'
import { OperatorError } from '@atrium/kernel/errors'
import { Closers } from '@atrium/kernel/lifecycle'
import type { Config } from './config.ts'

export interface OpenDatabase {
  readonly url: string
  /** For people: where the database is, without its password. */
  readonly place: string
  /** Resolves when an embedded server ended unasked; never for an external one. */
  readonly crashed: Promise<Error>
  close(): Promise<void>
}

const external = (url: string): OpenDatabase => ({
  url,
  place: `PostgreSQL at ${new URL(url).host}`,
  crashed: new Promise(() => {}),
  close: async () => {},
})

/**
 * The database of this process: `DATABASE_URL`, else the embedded server, which takes the data folder's lock.
 * @throws OperatorError when another Atrium holds the data folder
 */
export async function openDatabase(config: Config): Promise<OpenDatabase> {
  if (config.platform.DATABASE_URL !== undefined) return external(config.platform.DATABASE_URL)
  const closers = new Closers()
  const lock = await lockDataDir(config.dataDir)
  closers.add('data folder lock', () => lock.release())
  try {
    const server = await startEmbeddedPostgres({ dataDir: config.dataDir })
    closers.add('embedded PostgreSQL', () => server.stop())
    return {
      url: server.url,
      place: `embedded PostgreSQL in ${config.dataDir}`,
      crashed: server.crashed,
      close: () => closers.close(),
    }
  } catch (error) {
    await closers.close()
    throw error
  }
}

/** For commands beside a running platform: its database if it runs, else the same as `openDatabase`. */
export async function joinDatabase(config: Config): Promise<OpenDatabase> {
  if (config.platform.DATABASE_URL === undefined && (await readDataDirOwner(config.dataDir)) !== undefined) {
    const url = await readEmbeddedUrl(config.dataDir)
    if (url === undefined) {
      throw new OperatorError(`Atrium is still starting on ${config.dataDir}; try again in a moment.`)
    }
    return external(url)
  }
  return openDatabase(config)
}
