import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import pg from 'pg'

export const root = path.resolve(import.meta.dirname, '..')

export { freePort } from '@atrium/testing'

/** Starts `atrium <args>` as a user would, in a process group of its own. */
export function spawnAtrium(args: readonly string[], env: Readonly<Record<string, string>>): ChildProcess {
  const clean: NodeJS.ProcessEnv = { ...process.env }
  for (const name of Object.keys(clean)) {
    if (/^(ATRIUM_|AWS_|OPENAI_|DATABASE_URL$|NODE_ENV$|VITEST)/.test(name)) delete clean[name]
  }
  return spawn(path.join(root, 'node_modules/.bin/atrium'), [...args], {
    cwd: root,
    env: { ...clean, ATRIUM_PROBE_LOCAL_MODELS: 'false', ...env },
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** What the process printed up to the match. @throws Error with all of it when the process ends first */
export function waitForOutput(child: ChildProcess, pattern: RegExp): Promise<string> {
  let text = ''
  return new Promise((resolve, reject) => {
    const look = (chunk: Buffer): void => {
      text += chunk.toString('utf8')
      if (pattern.test(text)) resolve(text)
    }
    child.stdout?.on('data', look)
    child.stderr?.on('data', look)
    child.once('exit', (code) => reject(new Error(`ended with ${code} before ${pattern}:\n${text}`)))
  })
}

/** Runs to the end. */
export async function finish(
  child: ChildProcess,
): Promise<{ code: number | null; output: string; stdout: string }> {
  let output = ''
  let stdout = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8')
    stdout += chunk.toString('utf8')
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8')
  })
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, output, stdout }
}

/** Sends a signal to the whole group and waits for its end. */
export async function stopProcess(child: ChildProcess | undefined, signal: NodeJS.Signals): Promise<void> {
  if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  process.kill(-child.pid, signal)
  await ended
}

/** Kills a process and everything below it at once, whatever groups they are in. */
export function killTree(pid: number): void {
  const children = new Map<number, number[]>()
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
      children.set(parent, [...(children.get(parent) ?? []), Number(name)])
    } catch {
      // It ended while we looked.
    }
  }
  const tree = [pid]
  for (const one of tree) tree.push(...(children.get(one) ?? []))
  for (const one of tree) {
    try {
      process.kill(one, 'SIGKILL')
    } catch {
      // Gone already.
    }
  }
}

/** Command lines of this machine's processes that hold a text. */
export function processesOf(text: string): string[] {
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const line = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ')
      return line.includes(text) ? [`${name} ${line}`] : []
    } catch {
      return []
    }
  })
}

/** Resident bytes of all processes of a group. */
export function memoryOfGroup(group: number): number {
  let pages = 0
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      if (Number(fields[2]) === group) pages += Number(fields[21])
    } catch {
      // It ended while we looked.
    }
  }
  return pages * 4096
}

/** A connection of the test's own to the platform's database. */
export async function databaseOf(url: string) {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return {
    query: (statement: string, values: readonly string[]) => client.query(statement, [...values]),
    /** Cuts every connection on which a process listens for announcements. */
    async killListeners(): Promise<void> {
      await client.query(
        "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'atrium-listen'",
      )
    },
    close: () => client.end(),
  }
}
