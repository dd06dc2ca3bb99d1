import { readdir, readFile, readlink, rm } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const STEP_MS = 20
const PATIENCE_MS = 10_000

/** Processes that work in `folder`: a PostgreSQL server and each of its children have their data as cwd. */
async function processesIn(folder: string): Promise<number[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  const found = await Promise.all(
    // Of a zombie, or of somebody else's process, the link cannot be read.
    pids.map(async (pid) =>
      (await readlink(`/proc/${pid}/cwd`).catch(() => '')) === folder ? [Number(pid)] : [],
    ),
  )
  return found.flat()
}

function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch {
      // It ended by itself.
    }
  }
}

/**
 * Ends a server that outlived its Atrium, and clears the pid file of one that was killed. PostgreSQL itself takes a
 * zombie, or an unrelated process that was given the same pid, for a running server and refuses to start. The
 * caller holds the data folder's lock, so no other Atrium can be using the server.
 */
export async function stopOrphan(data: string): Promise<void> {
  // Without /proc PostgreSQL's own check has to do.
  if (process.platform !== 'linux') return
  const pidFile = path.join(data, 'postmaster.pid')
  const server = Number((await readFile(pidFile, 'utf8').catch(() => '')).split('\n')[0])
  let left = await processesIn(data)
  if (left.includes(server)) signal([server], 'SIGINT')
  for (let waited = 0; left.length > 0; waited += STEP_MS) {
    if (waited >= PATIENCE_MS) signal(left, 'SIGKILL')
    await delay(STEP_MS)
    left = await processesIn(data)
  }
  await rm(pidFile, { force: true })
}
