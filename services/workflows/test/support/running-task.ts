import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { ExecOptions, ExecResult, RunningTask } from '../../src/adapters/local/program.ts'

/** A task of a test: its programs are real processes, with the environment that a task's have. */
export interface TestTask extends RunningTask {
  readonly lines: readonly string[]
  /** What was run: command, arguments and environment. */
  readonly executed: readonly {
    command: string
    args: readonly string[]
    env: Record<string, string | undefined>
  }[]
  abort(reason?: unknown): void
  close(): Promise<void>
}

export async function testTask(args: Readonly<Record<string, string>>): Promise<TestTask> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), 'atrium-task-')))
  const [workspace = '', cache = '', temporary = ''] = await Promise.all(
    ['workspace', 'cache', 'tmp'].map(async (name) => {
      await mkdir(path.join(folder, name))
      return path.join(folder, name)
    }),
  )
  const lines: string[] = []
  const executed: { command: string; args: readonly string[]; env: Record<string, string | undefined> }[] = []
  const abortion = new AbortController()

  async function exec(
    command: string,
    args: readonly string[],
    options: ExecOptions = {},
  ): Promise<ExecResult> {
    const env = {
      PATH: process.env.PATH,
      HOME: temporary,
      TMPDIR: temporary,
      LANG: 'C.UTF-8',
      ...options.env,
    }
    executed.push({ command, args, env })
    const child = spawn(command, args, {
      cwd: options.cwd ?? workspace,
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const stop = (): void => void process.kill(-(child.pid ?? 0), 'SIGKILL')
    abortion.signal.addEventListener('abort', stop)
    let output = ''
    let errors = ''
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    child.stderr.on('data', (chunk) => {
      errors += chunk
    })
    const [code, signal] = await once(child, 'close')
    abortion.signal.removeEventListener('abort', stop)
    if (options.logged !== false)
      lines.push(...`${output}${errors}`.split('\n').filter((line) => line !== ''))
    return {
      exitCode: code ?? undefined,
      signal: signal ?? undefined,
      exceeded: undefined,
      tail: `${output}${errors}`.slice(-2000),
      output,
    }
  }

  return {
    ref: {
      spaceId: '0198c5a0-0000-7000-8000-000000000001',
      runId: '0198c5a0-0000-7000-8000-000000000002',
      attempt: 1,
      task: 'task',
    },
    version: 'v1.0.0',
    arguments: args,
    workspace,
    cache,
    signal: abortion.signal,
    log: (line) => void lines.push(line),
    exec,
    lines,
    executed,
    abort: (reason) => abortion.abort(reason),
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
