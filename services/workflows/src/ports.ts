/** What the service needs of the portal about spaces as such. */
export interface SpaceDirectory {
  /** Those of the given spaces whose data every service removes: they were deleted, and nobody can bring them back. */
  goneAmong(spaceIds: readonly string[]): Promise<string[]>
  /** Whether there is such a space and nobody has deleted it, by what is known for less than a second. */
  isOpen(spaceId: string): Promise<boolean>
}

export type TaskStatus = 'Pending' | 'Running' | 'Succeeded' | 'Failed' | 'Skipped' | 'Cancelled'

/** One attempt of a run: how an engine and the service speak of it. */
export interface RunRef {
  readonly spaceId: string
  readonly runId: string
  /** From 1; grows with each retry. */
  readonly attempt: number
}

/** A task as an engine is to run it. */
export interface PlannedTask {
  /** Unique in its run. */
  readonly name: string
  readonly template: {
    readonly name: string
    /** An exact release, `v1.2.3`: what floated was decided when the run was made. */
    readonly version: string
  }
  /** Configuration is filled in. `${secret.NAME}` still stands there: whoever starts the task asks for the values. */
  readonly arguments: Readonly<Record<string, string>>
  /** Names of tasks that must have succeeded. */
  readonly dependencies: readonly string[]
}

export interface EngineRun extends RunRef {
  readonly workflowId: string
  /** All tasks of the run, the finished too. */
  readonly tasks: readonly PlannedTask[]
  /** Names of tasks that succeeded in an earlier attempt: not run again, and their files are still in the workspace. */
  readonly finished: readonly string[]
}

/** What an engine knows of a task of the present attempt. */
export interface EngineTaskState {
  readonly name: string
  readonly status: TaskStatus
  /** For people: why it failed, its last lines. At most 4,000 characters. */
  readonly message: string
  readonly startedAt: Date | undefined
  readonly completedAt: Date | undefined
}

export interface EngineRunState {
  readonly attempt: number
  /** Once it is true nothing of the run changes any more, and nothing of it runs. */
  readonly isEnded: boolean
  readonly isCancelled: boolean
  readonly tasks: readonly EngineTaskState[]
}

/**
 * What runs the tasks of runs: the local engine, or Argo Workflows on Kubernetes. The service records a run before it
 * submits it, and takes what the engine observes as the truth about tasks; either may die at any moment, so every act
 * may come twice and has one effect. Schedules are the service's own, so that daylight saving is the same everywhere.
 */
export interface WorkflowEngine {
  readonly name: string
  /** Takes over an attempt of a run. A second call with the same attempt changes nothing. */
  submit(run: EngineRun): Promise<void>
  /** Undefined when the engine does not know the run, or no attempt as late as this one. */
  observe(ref: RunRef): Promise<EngineRunState | undefined>
  /** Asks for the end of what runs; answers before it has ended. Of what has ended nothing changes. */
  cancel(ref: RunRef): Promise<void>
  /** Forgets a run that has ended: state, workspace and what else only the engine keeps. */
  remove(ref: Omit<RunRef, 'attempt'>): Promise<void>
  /** Calls back soon after something of a run has changed; may miss some and tell others twice. */
  onChange(listener: (ref: Omit<RunRef, 'attempt'>) => void): void
  close(): Promise<void>
}

/** Where the engine leaves what tasks say, each piece once and in order. Bounded: waits while the store is slow. */
export interface TaskOutput {
  /** A task starts: metrics and artifacts that an earlier start of the same attempt left go; its log goes on. */
  begin(task: TaskRef): Promise<void>
  /**
   * Adds to the log of a task's attempt. Secrets are masked already, control characters escaped. Past the limit of a
   * task's log nothing more is kept; its last line says so.
   * @param text whole lines, with their ends, of at most 64 KiB
   */
  appendLog(task: TaskRef, text: string): Promise<void>
  /**
   * Past the limit of a task nothing more is kept.
   * @param points at most 1,000 at once
   * @returns how many were not kept
   */
  appendMetrics(task: TaskRef, points: readonly MetricPoint[]): Promise<number>
  /**
   * Keeps a file of the task under its relative path; one of the same path is replaced. Call it once nothing of the task
   * runs any more.
   * @param path relative, parts divided by `/`
   * @param file absolute and without symbolic links
   * @returns why it was not kept, in words for the log; undefined when it was
   */
  keepArtifact(task: TaskRef, path: string, file: string): Promise<string | undefined>
}

export interface TaskRef extends RunRef {
  readonly task: string
}

export interface MetricPoint {
  readonly name: string
  readonly step: number | null
  readonly value: number
}

/** Values of a space's secrets, for the moment a task starts. */
export interface SecretValues {
  /** @returns those that exist, by name */
  open(spaceId: string, names: readonly string[]): Promise<ReadonlyMap<string, string>>
}
