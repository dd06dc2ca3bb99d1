import type { EngineRun, EngineRunState, EngineTaskState, RunRef, WorkflowEngine } from '../src/ports.ts'

interface Known {
  readonly run: EngineRun
  readonly tasks: Map<string, EngineTaskState>
  isEnded: boolean
  isCancelled: boolean
}

type Key = Omit<RunRef, 'attempt'>

const pending = (name: string): EngineTaskState => ({
  name,
  status: 'Pending',
  message: '',
  startedAt: undefined,
  completedAt: undefined,
})

/** An engine whose tasks do what the test says, when it says so. */
export class ScriptedEngine implements WorkflowEngine {
  readonly name = 'scripted'
  /** Everything that was handed over, also twice. */
  readonly submitted: EngineRun[] = []
  readonly cancelled: RunRef[] = []
  readonly removed: Key[] = []
  /** What it throws at every call, as one that cannot be reached. */
  fault: Error | undefined
  /** A run that it never takes over. */
  refuses = ''
  /** Runs end as soon as they are cancelled; else the test ends them. */
  obeys = true
  /** It answers no cancel before this. */
  held: Promise<void> | undefined
  /** Whether it tells of changes. */
  tells = true
  readonly #runs = new Map<string, Known>()
  readonly #listeners: ((ref: Key) => void)[] = []

  async submit(run: EngineRun): Promise<void> {
    if (this.fault !== undefined) throw this.fault
    if (this.refuses === run.runId) throw new Error('refused')
    this.submitted.push(run)
    const known = this.#runs.get(run.runId)
    if (known !== undefined && known.run.attempt >= run.attempt) return
    const tasks = run.tasks.map(({ name }) => {
      const before = known?.tasks.get(name)
      return run.finished.includes(name) && before !== undefined ? before : pending(name)
    })
    const state = {
      run,
      tasks: new Map(tasks.map((task) => [task.name, task])),
      isEnded: false,
      isCancelled: false,
    }
    this.#runs.set(run.runId, state)
  }

  async observe({ runId, attempt }: RunRef): Promise<EngineRunState | undefined> {
    if (this.fault !== undefined) throw this.fault
    const known = this.#runs.get(runId)
    if (known === undefined || known.run.attempt < attempt) return undefined
    const { isEnded, isCancelled, tasks } = known
    return { attempt: known.run.attempt, isEnded, isCancelled, tasks: [...tasks.values()] }
  }

  async cancel(ref: RunRef): Promise<void> {
    if (this.fault !== undefined) throw this.fault
    this.cancelled.push(ref)
    await this.held
    const known = this.#runs.get(ref.runId)
    if (known === undefined || known.isEnded || !this.obeys) return
    this.endCancelled(ref.runId)
  }

  async remove(ref: Key): Promise<void> {
    this.removed.push(ref)
    this.#runs.delete(ref.runId)
  }

  onChange(listener: (ref: Key) => void): void {
    this.#listeners.push(listener)
  }

  async close(): Promise<void> {}

  /** Ends a run that was cancelled, and tells of it. */
  endCancelled(runId: string): void {
    const known = this.#of(runId)
    for (const task of known.tasks.values()) {
      if (task.status === 'Pending' || task.status === 'Running')
        known.tasks.set(task.name, { ...task, status: 'Cancelled', completedAt: new Date() })
    }
    known.isCancelled = true
    known.isEnded = true
    this.#tell(runId)
  }

  /** Begins tasks, all of them by default. */
  start(runId: string, ...names: string[]): void {
    this.#set(runId, names, { status: 'Running', startedAt: new Date() })
    this.#tell(runId)
  }

  /** Ends tasks well, all that have not ended by default; the run ends when nothing is left to do. */
  succeed(runId: string, ...names: string[]): void {
    this.#set(runId, names, { status: 'Succeeded', startedAt: new Date(), completedAt: new Date() })
    this.#settle(runId)
  }

  /** Ends a task badly. Those behind it are skipped, and the run ends when nothing is left to do. */
  fail(runId: string, name: string, message: string): void {
    this.#set(runId, [name], { status: 'Failed', message, startedAt: new Date(), completedAt: new Date() })
    this.#settle(runId)
  }

  /** As if it never had heard of a run. */
  lose(runId: string): void {
    this.#runs.delete(runId)
  }

  #of(runId: string): Known {
    const known = this.#runs.get(runId)
    if (known === undefined) throw new Error(`run ${runId} was not handed over`)
    return known
  }

  #set(runId: string, names: readonly string[], change: Partial<EngineTaskState>): void {
    const { tasks } = this.#of(runId)
    for (const task of tasks.values()) {
      const isMeant = names.length === 0 ? task.completedAt === undefined : names.includes(task.name)
      if (isMeant) tasks.set(task.name, { ...task, startedAt: undefined, ...change, ...began(task) })
    }
  }

  #settle(runId: string): void {
    const known = this.#of(runId)
    const { tasks, run } = known
    for (let changed = true; changed; ) {
      changed = false
      for (const { name, dependencies } of run.tasks) {
        const task = tasks.get(name)
        const isBlocked = dependencies.some((one) =>
          ['Failed', 'Skipped'].includes(tasks.get(one)?.status ?? ''),
        )
        if (task?.status !== 'Pending' || !isBlocked) continue
        tasks.set(name, { ...task, status: 'Skipped', completedAt: new Date() })
        changed = true
      }
    }
    known.isEnded = [...tasks.values()].every(({ completedAt }) => completedAt !== undefined)
    this.#tell(runId)
  }

  #tell(runId: string): void {
    const { spaceId } = this.#of(runId).run
    if (this.tells) for (const listener of this.#listeners) listener({ spaceId, runId })
  }
}

const began = ({ startedAt }: EngineTaskState) => (startedAt === undefined ? {} : { startedAt })
