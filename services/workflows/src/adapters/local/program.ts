import type { TaskRef } from '../../ports.ts'

/**
 * How the releases of one template run on this machine. One whose signal is aborted from the beginning runs nothing: it
 * ends what an earlier start, of a process that is gone, left running elsewhere.
 */
export type TaskProgram = (task: RunningTask) => Promise<void>

/** The task ended badly, for a reason that people are to read. Anything else that is thrown is a fault of the engine. */
export class TaskFailure extends Error {}

/** A task that this process runs, as its program sees it. */
export interface RunningTask {
  readonly ref: TaskRef
  /** Exact release of its template, `v1.2.3`. */
  readonly version: string
  /** Configuration and secrets filled in. Their text goes into no command line where it came from a secret. */
  readonly arguments: Readonly<Record<string, string>>
  /** Folder that the tasks of a run share. Absolute, without symbolic links. */
  readonly workspace: string
  /**
   * Folder for what outlives runs of this space: environments by hash, for example. Absolute. Programs do not see it
   * unless a call of `exec` names a part of it.
   */
  readonly cache: string
  /** Aborted when the run is cancelled, the time is over or another process has taken the task. */
  readonly signal: AbortSignal
  /** Adds a line to the task's log. */
  log(line: string): void
  /**
   * Runs a program within the task's limits, its output in the task's log. Everything that it starts ends with it.
   * Nothing goes through a shell.
   */
  exec(command: string, args: readonly string[], options?: ExecOptions): Promise<ExecResult>
}

export interface ExecOptions {
  /** Beside PATH, HOME, TMPDIR, LANG, ATRIUM_ARTIFACTS, ATRIUM_METRICS and ATRIUM_RUN_ID; nothing of the platform's own. */
  readonly env?: Readonly<Record<string, string>>
  /** The workspace by default. */
  readonly cwd?: string
  /** Folders besides the workspace that it may write to; what lies in them counts for the run meanwhile. */
  readonly writable?: readonly string[]
  /** Folders of the cache that it may read. */
  readonly readable?: readonly string[]
  readonly timeoutSeconds?: number
  /** Whether its output goes to the log; true by default. */
  readonly logged?: boolean
}

export interface ExecResult {
  /** Undefined when a signal ended it. */
  readonly exitCode: number | undefined
  readonly signal: string | undefined
  /** Which limit ended it, as far as that can be told. */
  readonly exceeded: 'time' | 'processor time' | 'memory' | 'file size' | undefined
  /** The last lines of its output, at most 2,000 characters, secrets masked. */
  readonly tail: string
  /** Its standard output where it was not logged, at most 1 MiB. */
  readonly output: string
}
