import { readdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

const ROUNDS = 20
const BETWEEN_MS = 50

async function isMarked(pid: string, marker: string): Promise<boolean> {
  return (await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')).includes(marker)
}

/**
 * Kills the processes whose environment holds the marker, wherever they went; again while there are any, for some begin
 * others meanwhile. Does nothing where there is no /proc.
 */
export async function killMarked(marker: string): Promise<void> {
  for (let round = 0; round < ROUNDS; round++) {
    const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
    let killed = 0
    for (const pid of pids) {
      if (Number(pid) === process.pid || !(await isMarked(pid, marker))) continue
      try {
        process.kill(Number(pid), 'SIGKILL')
        killed++
      } catch {
        // It ended by itself.
      }
    }
    if (killed === 0) return
    await delay(BETWEEN_MS)
  }
}
