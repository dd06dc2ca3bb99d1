import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { freePort, killTree, root, waitForOutput } from './processes.ts'

let dataDir = ''
let port = 0
let launcher: ChildProcess | undefined
/** What was started below the launcher. */
let below: number[] = []

beforeEach(async () => {
  dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-launcher-'))
  port = await freePort()
})
afterEach(async () => {
  for (const pid of [launcher?.pid ?? 0, ...below]) if (pid > 0) killTree(pid)
  await rm(dataDir, { recursive: true, force: true })
})

const childrenOf = (pid: number): number[] => {
  try {
    return execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
      .trim()
      .split(/\s+/)
      .filter((text) => text !== '')
      .map(Number)
  } catch {
    return []
  }
}
const allBelow = (pid: number): number[] => childrenOf(pid).flatMap((child) => [child, ...allBelow(child)])

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function start(program: string, args: readonly string[]): ChildProcess {
  const clean = Object.entries(process.env).filter(
    ([name]) => !/^(ATRIUM_|npm_|DATABASE_URL$|VITEST|NODE_ENV$)/.test(name),
  )
  return spawn(program, args, {
    cwd: root,
    env: {
      ...Object.fromEntries(clean),
      ATRIUM_DATA_DIR: dataDir,
      ATRIUM_PORT: String(port),
      ATRIUM_PROBE_LOCAL_MODELS: 'false',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
}

/** The platform and PostgreSQL with all its processes end, in peace. */
async function expectNothingLeft(): Promise<void> {
  await expect.poll(() => below.filter(isAlive), { timeout: 60_000, interval: 200 }).toEqual([])
  const left = await readFile(path.join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').catch(() => 'none')
  expect(left).toBe('none')
}

const DEADLINE_MS = 150_000

it.each([
  ['npm start', 'SIGTERM'],
  ['npm start', 'SIGKILL'],
  ['npx atrium up', 'SIGTERM'],
] as const)(
  '%s alone is sent %s',
  async (command, signal) => {
    const [program = '', ...args] = command.split(' ')
    launcher = start(program, args)
    await waitForOutput(launcher, /Atrium is ready/)
    below = allBelow(launcher.pid ?? 0)
    expect(below.length).toBeGreaterThan(3)
    const ended = once(launcher, 'exit')
    launcher.kill(signal)
    await ended
    await expectNothingLeft()
  },
  DEADLINE_MS,
)

it(
  'SIGTERM while it still starts leaves no PostgreSQL',
  async () => {
    launcher = start(path.join(root, 'node_modules/.bin/atrium'), ['up'])
    const { pid = 0 } = launcher
    await expect
      .poll(() => readFile(path.join(dataDir, 'postgres/data/postmaster.pid'), 'utf8').catch(() => ''), {
        timeout: 60_000,
        interval: 20,
      })
      .not.toBe('')
    below = allBelow(pid)
    const ended = once(launcher, 'exit')
    launcher.kill('SIGTERM')
    await ended
    await expectNothingLeft()
  },
  DEADLINE_MS,
)

it(
  'what is started otherwise may outlive its parent',
  async () => {
    const shell = start('sh', ['-c', `node_modules/.bin/atrium up & wait $!`])
    launcher = shell
    await waitForOutput(shell, /Atrium is ready/)
    below = allBelow(shell.pid ?? 0)
    const ended = once(shell, 'exit')
    shell.kill('SIGKILL')
    await ended
    await new Promise((resolve) => setTimeout(resolve, 2000))
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200)
  },
  DEADLINE_MS,
)
