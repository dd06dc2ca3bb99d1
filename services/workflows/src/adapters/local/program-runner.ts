import type { Folders, TaskFolders } from './folders.ts'
import type { Holdings } from './holdings.ts'
import type { TaskLimits } from './limits.ts'
import { readUpTo } from './log/read-up-to.ts'
import { Tail, type TaskLog } from './log/task-log.ts'
import { type ExecOptions, type ExecResult, TaskFailure } from './program.ts'
import type { Cell, Confinement } from './sandbox/confinement.ts'
import { type ProcessEnd, runProcess } from './sandbox/run-process.ts'
import { PROGRAM_PATH } from './sandbox/tools.ts'

const MOST_OUTPUT = 2 ** 20

export interface RunnerDeps {
  readonly confinement: Confinement
  readonly limits: TaskLimits
  /** Given to every process of a task; the operator's own choice. */
  readonly environment: Readonly<Record<string, string>>
  readonly folders: Folders
  readonly holdings: Holdings
}

export interface TaskOfRunner {
  readonly runId: string
  readonly spaceId: string
  readonly marker: string
  readonly folders: TaskFolders
  readonly log: TaskLog
  readonly signal: AbortSignal
  /** When the time of the whole task is over, in milliseconds since 1970. */
  readonly until: number
}

/** Runs one program of a task, confined, and says how it ended. @throws TaskFailure when it cannot be started */
export async function runProgram(
  { confinement, limits, environment, holdings }: RunnerDeps,
  task: TaskOfRunner,
  [command, args, options = {}]: readonly [string, readonly string[], (ExecOptions | undefined)?],
): Promise<ExecResult> {
  const { folders, log } = task
  task.signal.throwIfAborted()
  const isLogged = options.logged ?? true
  const tail = new Tail()
  let output = ''
  const timeoutMs = Math.min((options.timeoutSeconds ?? limits.seconds) * 1000, task.until - Date.now())
  const cell: Cell = {
    command,
    args,
    cwd: options.cwd ?? folders.workspace,
    uid: confinement.uidOf(task.spaceId) ?? 0,
    writable: [folders.workspace, folders.own, ...(options.writable ?? [])],
    readable: options.readable ?? [],
    limits,
    merges: isLogged,
    env: {
      PATH: PROGRAM_PATH,
      LANG: 'C.UTF-8',
      TERM: 'dumb',
      NO_COLOR: '1',
      ...environment,
      ...options.env,
      HOME: folders.home,
      TMPDIR: folders.temporary,
      ATRIUM_ARTIFACTS: folders.artifacts,
      ATRIUM_METRICS: folders.metrics,
      ATRIUM_RUN_ID: task.runId,
      ATRIUM_TASK_START: task.marker,
    },
  }
  const end = await runProcess(confinement, cell, {
    signal: task.signal,
    timeoutMs: Math.max(1, timeoutMs),
    marker: task.marker,
    onStart: (pid) => holdings.add(task.runId, { pid, folders: options.writable ?? [] }),
    onOutput: async (stdout, stderr) => {
      const reading = isLogged
        ? log.follow(stdout, tail)
        : readUpTo(stdout, MOST_OUTPUT).then((text) => {
            output = text
          })
      await Promise.all([reading, log.follow(stderr, tail, isLogged)])
    },
  }).catch((error: unknown) => {
    throw new TaskFailure(`${command} could not be started: ${reasonOf(error)}`)
  })
  task.signal.throwIfAborted()
  return { ...end, exceeded: exceededBy(end, tail.text), tail: tail.text, output }
}

function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (code === 'E2BIG') return 'its arguments and environment are too long'
  return String(code ?? message)
}

/** Programs catch some limits themselves, and their last words tell. */
function exceededBy({ isTimedOut, signal }: ProcessEnd, tail: string): ExecResult['exceeded'] {
  if (isTimedOut) return 'time'
  if (signal === 'SIGXCPU') return 'processor time'
  if (signal === 'SIGXFSZ' || /File too large/.test(tail)) return 'file size'
  if (/\bMemoryError\b|Cannot allocate memory|memory exhausted|std::bad_alloc/.test(tail)) return 'memory'
  return undefined
}
