import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { constants } from 'node:os'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Cell, Confinement } from './confinement.ts'
import { killMarked } from './marked.ts'

/** Between the request to end and the end; a cancelled task is over within two seconds. */
const GRACE_MS = 1000
/** After the end of a program: its pipes close at once unless somebody else holds them. */
const PIPES_MS = 500

export interface ProcessOptions {
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** Stands in the environment of all that the task starts. */
  readonly marker: string
  /** @returns what is called once the program has ended */
  onStart?(pid: number): () => void
  onOutput(stdout: Readable, stderr: Readable): Promise<void>
}

export interface ProcessEnd {
  readonly exitCode: number | undefined
  readonly signal: string | undefined
  readonly isTimedOut: boolean
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number as number, name]))

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid !== undefined) process.kill(-child.pid, signal)
  } catch {
    // Nothing of the group is left.
  }
}

/**
 * Runs a program in its cell. When it resolves, nothing that it started runs any more, as far as the confinement can
 * tell.
 * @throws Error when it cannot be started
 */
export async function runProcess(
  confinement: Confinement,
  cell: Cell,
  options: ProcessOptions,
): Promise<ProcessEnd> {
  const launch = await confinement.launch(cell)
  const child = spawn(launch.command, launch.args, {
    cwd: launch.cwd,
    env: launch.env,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, and no terminal.
    detached: true,
  })
  const onEnd = child.pid === undefined ? undefined : options.onStart?.(child.pid)
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>
  const output = options.onOutput(child.stdout, child.stderr)
  const over = new AbortController()
  let isTimedOut = false
  const end = async (): Promise<void> => {
    signalGroup(child, 'SIGTERM')
    await delay(GRACE_MS, undefined, { signal: over.signal }).catch(() => {})
    signalGroup(child, 'SIGKILL')
  }
  const timer = setTimeout(() => {
    isTimedOut = true
    void end()
  }, options.timeoutMs)
  const onAbort = (): void => void end()
  options.signal.addEventListener('abort', onAbort, { once: true })
  if (options.signal.aborted) onAbort()
  try {
    const [code, signal] = await ended
    over.abort()
    signalGroup(child, 'SIGKILL')
    if (!confinement.endsTogether) await killMarked(options.marker)
    await settled(child, output)
    return { ...readEnd(code, signal), isTimedOut }
  } finally {
    over.abort()
    clearTimeout(timer)
    options.signal.removeEventListener('abort', onAbort)
    launch.close()
    onEnd?.()
  }
}

/** What is read of the pipes counts; somebody who escaped may hold them open for ever. */
async function settled(child: ChildProcess, output: Promise<void>): Promise<void> {
  let isWaiting = true
  const watch = async (): Promise<void> => {
    while (isWaiting) {
      const before = [child.stdout, child.stderr].map(
        (stream) => (stream as { bytesRead?: number }).bytesRead,
      )
      await delay(PIPES_MS)
      const now = [child.stdout, child.stderr].map((stream) => (stream as { bytesRead?: number }).bytesRead)
      const isPaused = child.stdout?.isPaused() === true || child.stderr?.isPaused() === true
      if (isWaiting && !isPaused && before.every((bytes, index) => bytes === now[index])) {
        child.stdout?.destroy()
        child.stderr?.destroy()
        return
      }
    }
  }
  void watch()
  await output
  isWaiting = false
}

/** A shell tells of a signal by 128 and its number. */
function readEnd(
  code: number | null,
  signal: NodeJS.Signals | null,
): Pick<ProcessEnd, 'exitCode' | 'signal'> {
  const told = code !== null && code > 128 ? SIGNALS.get(code - 128) : undefined
  if (signal !== null || told !== undefined) return { exitCode: undefined, signal: signal ?? told }
  return { exitCode: code ?? undefined, signal: undefined }
}
