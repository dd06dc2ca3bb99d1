import { createHash } from 'node:crypto'
import { lstat, lutimes, readdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { tryLockFile } from '@atrium/kernel/db'
import { insideWorkspace } from '../local/inside.ts'
import { type RunningTask, TaskFailure } from '../local/program.ts'
import type { Interpreter } from './interpreter.ts'

const READY = '.atrium-ready'
const WAIT_MS = 200
/** Environments that a space keeps, and how long one is kept that nobody uses. */
const MOST_KEPT = 10
const UNUSED_MS = 24 * 3_600_000
/** Files that requirements refer to, one by the other. */
const MOST_FILES = 50

export interface EnvironmentDeps {
  readonly python: Interpreter
  /** Folder for locks, which tasks do not see. */
  readonly locks: string
}

type Task = Pick<RunningTask, 'workspace' | 'cache' | 'exec' | 'log' | 'signal' | 'ref'>

/**
 * The virtual environment with what a requirements file of the workspace lists. It is made once, however many tasks
 * ask at once, in this process and others, and shared by the runs of the space.
 * @returns its folder
 * @throws TaskFailure when it cannot be made
 */
export async function environmentFor(
  task: Task,
  requirements: string,
  deps: EnvironmentDeps,
): Promise<string> {
  const file = await insideWorkspace(task, 'requirements', requirements)
  const hash = await hashOf(task, file, deps.python)
  const home = path.join(task.cache, 'python')
  const folder = path.join(home, hash)
  const lock = path.join(
    deps.locks,
    `python-${createHash('sha256').update(`${task.ref.spaceId} ${hash}`).digest('hex').slice(0, 3)}`,
  )
  let hasWaited = false
  for (;;) {
    if (await isReady(folder)) break
    const held = tryLockFile(lock)
    if (held === undefined) {
      if (!hasWaited) task.log('Another task makes the environment for these requirements; waiting for it')
      hasWaited = true
      await delay(WAIT_MS, undefined, { signal: task.signal })
      continue
    }
    try {
      if (!(await isReady(folder))) await make(task, { folder, file, python: deps.python })
    } finally {
      held.release()
    }
    await tidy(task, home)
    return folder
  }
  const now = new Date()
  await lutimes(path.join(folder, READY), now, now).catch(() => {})
  return folder
}

const isReady = async (folder: string): Promise<boolean> =>
  (await lstat(path.join(folder, READY)).catch(() => undefined))?.isFile() === true

/** What the file says, with what it refers to. What lies in the workspace itself is not shared by runs. */
async function hashOf(task: Task, file: string, python: Interpreter): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify(python))
  const waiting = [file]
  const seen = new Set<string>()
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (seen.has(at)) continue
    if (seen.add(at).size > MOST_FILES) throw new TaskFailure(`requirements: more than ${MOST_FILES} files`)
    const read = await task.exec('cat', ['--', at], { logged: false })
    if (read.exitCode !== 0) throw new TaskFailure(`requirements: ${at} cannot be read: ${read.tail}`)
    hash.update(`\0${read.output}`)
    for (const line of read.output.split('\n').map((text) => text.trim())) {
      const [, other] = /^(?:-r|-c|--requirement|--constraint)[ =]*(\S+)/.exec(line) ?? []
      if (other !== undefined && !/^https?:/.test(other)) {
        const inner = path.relative(task.workspace, path.resolve(path.dirname(at), other))
        waiting.push(await insideWorkspace(task, 'requirements', inner))
      } else if (/^(?:-e|--editable|\.|\/|file:)|@ *file:/.test(line)) hash.update(`\0${task.ref.runId}`)
    }
  }
  return hash.digest('hex').slice(0, 32)
}

async function make(
  task: Task,
  { folder, file, python }: { folder: string; file: string; python: Interpreter },
): Promise<void> {
  const downloads = path.join(task.cache, 'pip')
  const demand = async (
    what: string,
    command: string,
    args: readonly string[],
    writable = [folder, downloads],
  ): Promise<void> => {
    const env = {
      PIP_CACHE_DIR: downloads,
      PIP_DISABLE_PIP_VERSION_CHECK: '1',
      PIP_NO_INPUT: '1',
    }
    const result = await task.exec(command, args, { cwd: path.dirname(file), env, writable })
    if (result.exitCode === 0) return
    throw new TaskFailure(`${what}${result.tail === '' ? '' : `:\n${result.tail}`}`)
  }
  task.log(`Making an environment of Python ${python.version} for ${path.relative(task.workspace, file)}`)
  const failed = 'The environment could not be made'
  await demand(failed, 'rm', ['-rf', '--', folder], [task.cache])
  await demand(failed, 'mkdir', ['-p', '--', folder, downloads], [task.cache])
  await demand(failed, python.executable, ['-m', 'venv', '--', folder])
  const install = ['-m', 'pip', 'install', '--progress-bar', 'off', '-r', file]
  await demand('The requirements could not be installed', path.join(folder, 'bin', 'python'), install)
  await demand(failed, 'touch', ['--', path.join(folder, READY)])
}

/** Removes environments that nobody has used for a while, when there are many. */
async function tidy(task: Task, home: string): Promise<void> {
  const names = await readdir(home).catch(() => [])
  const used = await Promise.all(
    names.map(async (name) => ({
      name,
      at: (await lstat(path.join(home, name, READY)).catch(() => undefined))?.mtimeMs ?? Date.now(),
    })),
  )
  const old = used
    .sort((a, b) => b.at - a.at)
    .slice(MOST_KEPT)
    .filter(({ at }) => Date.now() - at > UNUSED_MS)
  const folders = old.map(({ name }) => path.join(home, name))
  if (old.length > 0) await task.exec('rm', ['-rf', '--', ...folders], { writable: [task.cache] })
}
