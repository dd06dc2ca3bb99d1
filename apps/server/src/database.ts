import { stat } from 'node:fs/promises'
import path from 'node:path'
import {
  lockDataDir,
  readDataDirOwner,
  readEmbeddedUrl,
  serverUrlOf,
  startEmbeddedPostgres,
} from '@atrium/kernel/db'
import { OperatorError } from '@atrium/kernel/errors'
import { Closers } from '@atrium/kernel/lifecycle'
import type { Config } from './config.ts'

/** In a data folder that a restore has not filled to the end. */
export const INCOMPLETE = 'restore.incomplete'

/** How this process reaches its database. */
export interface DatabaseUrls {
  /** As the role that the server runs as. */
  readonly url: string
  /** As the owner of the schemas, who migrates; undefined where that is the same role, or another process migrates. */
  readonly ownerUrl?: string | undefined
}

export interface OpenDatabase extends DatabaseUrls {
  /** For people: where the database is, without its password. */
  readonly place: string
  /** Resolves when an embedded server ended unasked; never for an external one. */
  readonly crashed: Promise<Error>
  close(): Promise<void>
}

const external = (url: string, ownerUrl?: string): OpenDatabase => ({
  url,
  ownerUrl,
  place: `PostgreSQL at ${new URL(url).host}`,
  crashed: new Promise(() => {}),
  close: async () => {},
})

/**
 * The database of this process: `DATABASE_URL`, else the embedded server, which takes the data folder's lock.
 * @throws OperatorError when another Atrium holds the data folder
 */
export async function openDatabase(config: Config): Promise<OpenDatabase> {
  const isIncomplete = await stat(path.join(config.dataDir, INCOMPLETE)).then(
    () => true,
    () => false,
  )
  if (isIncomplete) {
    throw new OperatorError(
      `A restore into ${config.dataDir} was cut off: delete the folder${config.platform.DATABASE_URL === undefined ? '' : ' and the database'}, and restore again.`,
    )
  }
  if (config.platform.DATABASE_URL !== undefined) {
    return external(config.platform.DATABASE_URL, config.platform.ATRIUM_MIGRATION_DATABASE_URL)
  }
  const closers = new Closers()
  const lock = await lockDataDir(config.dataDir)
  closers.add('data folder lock', () => lock.release())
  try {
    const server = await startEmbeddedPostgres({ dataDir: config.dataDir })
    closers.add('embedded PostgreSQL', () => server.stop())
    return {
      url: server.serverUrl,
      ownerUrl: server.url,
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
    return external(serverUrlOf(url), url)
  }
  return openDatabase(config)
}
