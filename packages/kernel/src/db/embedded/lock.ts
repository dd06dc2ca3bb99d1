import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { OperatorError } from '../../errors.ts'

export interface FileLock {
  release(): void
}

const SQLITE_BUSY = 5

/** Kept reachable: a collected handle closes its file, and the lock would be gone. */
const held = new Set<DatabaseSync>()

/**
 * An exclusive lock that the operating system drops when its process ends, however it ends. Node.js has no
 * flock of its own, but its SQLite locks its files by fcntl, correctly on each platform.
 * @param file made if it is not there; it holds nothing
 * @returns undefined when another process, or this one, holds it
 */
export function tryLockFile(file: string): FileLock | undefined {
  const database = new DatabaseSync(file)
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return undefined
    throw error
  }
  held.add(database)
  return {
    release: () => {
      if (held.delete(database)) database.close()
    },
  }
}

export interface DataDirLock {
  release(): Promise<void>
}

const lockFileOf = (dataDir: string): string => path.join(dataDir, 'lock')
const ownerFileOf = (dataDir: string): string => path.join(dataDir, 'lock.pid')

/** The pid of the live process that holds the folder, if any. */
export async function readDataDirOwner(dataDir: string): Promise<number | undefined> {
  const pid = Number(await readFile(ownerFileOf(dataDir), 'utf8').catch(() => ''))
  if (pid === 0) return undefined
  const lock = tryLockFile(lockFileOf(dataDir))
  lock?.release()
  return lock === undefined ? pid : undefined
}

/**
 * Takes the folder for this process. The lock of a process that is gone (kill -9, power cut) does not count.
 * @throws OperatorError naming the pid when a live process holds it
 */
export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  await mkdir(dataDir, { recursive: true })
  const lock = tryLockFile(lockFileOf(dataDir))
  if (lock === undefined) {
    const pid = await readFile(ownerFileOf(dataDir), 'utf8').catch(() => '(just starting)')
    throw new OperatorError(
      `The data folder ${dataDir} is in use by process ${pid}. Stop that Atrium first, or set ATRIUM_DATA_DIR to another folder.`,
    )
  }
  await writeFile(ownerFileOf(dataDir), String(process.pid))
  return {
    release: async () => {
      await rm(ownerFileOf(dataDir), { force: true })
      lock.release()
    },
  }
}
