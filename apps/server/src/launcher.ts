import { readFileSync } from 'node:fs'

const LOOK_EVERY_MS = 500

const argumentsOf = (pid: number): readonly string[] => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
  } catch {
    return []
  }
}

/** Undefined when it is gone; of other processes only Linux tells. */
function parentOf(pid: number): number | undefined {
  if (pid === process.pid) return process.ppid
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

/** An older Node.js that runs bin/atrium.js for this process. */
const isLauncher = (pid: number): boolean => /\/atrium(\.js)?$/.test(argumentsOf(pid)[1] ?? '')
const isShell = (pid: number): boolean => argumentsOf(pid)[1] === '-c'

interface Link {
  readonly child: number
  readonly parent: number
}

/** This process, and those between it and npm, with the parents that they have now. */
function linksToLauncher(env: NodeJS.ProcessEnv): Link[] {
  const isFromNpm = env.npm_lifecycle_event !== undefined
  if (!isFromNpm && !isLauncher(process.ppid)) return []
  const links: Link[] = [{ child: process.pid, parent: process.ppid }]
  for (let pid = process.ppid; isFromNpm && (isShell(pid) || isLauncher(pid)); ) {
    const parent = parentOf(pid)
    if (parent === undefined) break
    links.push({ child: pid, parent })
    pid = parent
  }
  return links
}

/**
 * Resolves when npm, its shell or bin/atrium.js, whichever started this process, is gone: npm passes SIGTERM to its
 * shell alone, which dies of it without a word, and nobody can pass SIGKILL on. Whoever starts Atrium otherwise, as a
 * daemon for instance, may end before it.
 */
export function launcherGone(env: NodeJS.ProcessEnv): Promise<void> {
  const links = linksToLauncher(env)
  return new Promise((resolve) => {
    if (links.length === 0) return
    const timer = setInterval(() => {
      if (links.every(({ child, parent }) => parentOf(child) === parent)) return
      clearInterval(timer)
      resolve()
    }, LOOK_EVERY_MS)
    timer.unref()
  })
}
