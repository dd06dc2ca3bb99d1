import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { OperatorError } from '../../errors.ts'

/** Who holds a data folder. `started` tells a process from a later one that was given the same pid. */
export interface DataDirOwner {
  readonly pid: number
  readonly started: string
}

export interface DataDirLock {
  release(): Promise<void>
}

/** The kernel's start time of a process, or undefined when there is none of that pid (or only a zombie). */
function startTimeOf(pid: number): string | undefined {
  try {
    if (process.platform === 'linux') {
      const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
      // The command name may hold spaces and parentheses, so fields are counted after the last one.
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      return fields[0] === 'Z' ? undefined : fields[19]
    }
    return execFileSync('ps', ['-o', 'lstart=', '-p', String(pid)], { encoding: 'utf8' }).trim() || undefined
  } catch {
    return undefined
  }
}

const lockFile = (dataDir: string): string => path.join(dataDir, 'lock.json')

/** The live process that holds the folder, if any. */
export async function readDataDirOwner(dataDir: string): Promise<DataDirOwner | undefined> {
  let owner: DataDirOwner
  try {
    owner = JSON.parse(await readFile(lockFile(dataDir), 'utf8')) as DataDirOwner
  } catch {
    return undefined
  }
  return startTimeOf(owner.pid) === owner.started ? owner : undefined
}

/**
 * Takes the folder for this process. A lock whose process is gone (kill -9, power cut) is taken over.
 * @throws OperatorError naming the pid when a live process holds it
 */
export async function lockDataDir(dataDir: string): Promise<DataDirLock> {
  const file = lockFile(dataDir)
  const mine: DataDirOwner = { pid: process.pid, started: startTimeOf(process.pid) ?? '' }
  const fresh = `${file}.${process.pid}`
  await mkdir(dataDir, { recursive: true })
  await writeFile(fresh, JSON.stringify(mine))
  try {
    for (;;) {
      try {
        await link(fresh, file) // atomic: fails when the name exists
        return { release: () => rm(file, { force: true }) }
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      const owner = await readDataDirOwner(dataDir)
      if (owner !== undefined) {
        throw new OperatorError(
          `The data folder ${dataDir} is in use by process ${owner.pid}. Stop that Atrium first, or set ATRIUM_DATA_DIR to another folder.`,
        )
      }
      // Only one of several starters can move the stale lock away; the others find it gone and try again.
      await rename(file, `${fresh}.stale`).catch(() => {})
      await rm(`${fresh}.stale`, { force: true })
    }
  } finally {
    await rm(fresh, { force: true })
  }
}
