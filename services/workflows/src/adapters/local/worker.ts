import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { every } from '@atrium/kernel/lifecycle'
import type { Logger } from '@atrium/kernel/log'
import type { PlannedTask, RunRef } from '../../ports.ts'
import {
  announceReady,
  cancelledAmong,
  runsWithUse,
  workflowsWithWaitingRuns,
} from '../../queries/local-runs.ts'
import {
  giveBackTask,
  renewLeases,
  type StartedTask,
  spacesWithReadyTasks,
  startReadyTasks,
  takeLostTasks,
} from '../../queries/local-tasks.ts'
import type { WorkflowsDb } from '../../queries/tables.ts'
import { DiskWatch } from './disk-watch.ts'
import { type ExecutionDeps, execute, type Interruption, type Outcome } from './execute.ts'
import { Leftovers } from './leftovers.ts'
import { admit, type Settled, settle } from './settle.ts'
import { shareSlots } from './slots.ts'

/** A third of a lease: two beats may be missed. */
const RENEW_MS = 5000
/** Also how soon a cancelled task learns of it when the announcement was lost. */
const LOOK_FOR_CANCELS_MS = 1000
const SWEEP_MS = 3000
const SPACES_AT_ONCE = 200
const LOST_AT_ONCE = 100
/** A task that takes its worker down with it is not tried for ever. */
const MOST_STARTS = 10
/** What runs at a stop may end by itself for so long. */
const CLOSE_MS = 3000
const AGAIN_MS = 1000

export interface WorkerOptions extends ExecutionDeps {
  readonly db: WorkflowsDb
  readonly slots: number
  readonly slotsOfSpace: number
  readonly log: Logger
  onChange(ref: Omit<RunRef, 'attempt'>): void
}

interface Running {
  readonly task: StartedTask<PlannedTask>
  readonly interrupt: AbortController
  readonly done: Promise<void>
}

const keyOf = ({ spaceId, runId, name }: Pick<StartedTask, 'spaceId' | 'runId' | 'name'>): string =>
  `${spaceId} ${runId} ${name}`

/** Runs tasks in this process, as many at once as it has slots. */
export class Worker {
  readonly id = randomUUID()
  readonly #options: WorkerOptions
  readonly #running = new Map<string, Running>()
  readonly #stops: (() => Promise<void>)[] = []
  readonly #disk: DiskWatch
  readonly #leftovers: Leftovers
  /** Slots that are kept for tasks which are being recorded as begun here, and of which spaces they are. */
  readonly #kept = new Map<string, number>()
  #looking: Promise<void> | undefined
  #lookAgain = false
  /** At the last look there was more to do than slots: whoever ends a task takes turns with all others. */
  #isCrowded = false
  #isClosing = false

  constructor(options: WorkerOptions) {
    this.#options = options
    this.#disk = new DiskWatch(options, (ref, reason) => this.#interruptRun(ref, reason))
    this.#leftovers = new Leftovers(options.folders, (runs) => runsWithUse(options.db, runs))
  }

  start(): void {
    const warn = (error: unknown): void => this.#options.log.debug({ err: error }, 'a look at tasks failed')
    this.#stops.push(
      every(RENEW_MS, () => this.#renew(), warn),
      every(LOOK_FOR_CANCELS_MS, () => this.#lookForCancels(), warn),
      every(SWEEP_MS, () => this.#sweep(), warn),
      every(SWEEP_MS, () => this.#leftovers.sweep(), warn),
      every(SWEEP_MS, () => this.#options.use.sweep(), warn),
      this.#disk.watch(() => [...this.#running.values()].map(({ task }) => task)),
    )
    this.wake()
  }

  /** Something may be ready. */
  wake(): void {
    if (this.#isClosing) return
    this.#lookAgain = true
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined
    })
  }

  /**
   * Begins tasks of a new run in the statement that records them: nobody has to look for them. None while others wait
   * for slots.
   * @param ready how many could begin
   * @param record writes the run down with the first so many of them as begun by this worker, and answers with those
   */
  async beginNew(
    spaceId: string,
    ready: number,
    record: (most: number) => Promise<readonly StartedTask<PlannedTask>[]>,
  ): Promise<void> {
    const { slotsOfSpace } = this.#options
    const share = slotsOfSpace - (this.#runningBySpace().get(spaceId) ?? 0)
    const most = this.#isCrowded || this.#isClosing ? 0 : Math.max(0, Math.min(ready, share, this.#free()))
    const keep = (slots: number): void => {
      this.#kept.set(spaceId, (this.#kept.get(spaceId) ?? 0) + slots)
      if (this.#kept.get(spaceId) === 0) this.#kept.delete(spaceId)
    }
    keep(most)
    try {
      const begun = await record(most).finally(() => keep(-most))
      for (const task of begun) {
        if (this.#isClosing) await this.#giveBack(task)
        else this.#run(task)
      }
    } finally {
      if (this.#isCrowded) this.wake()
    }
  }

  /** Ends what runs of a run, without waiting for it. */
  cancel(ref: Omit<RunRef, 'attempt'>): void {
    this.#interruptRun(ref, 'cancelled')
  }

  /** Gives back what does not end soon. */
  async close(): Promise<void> {
    this.#isClosing = true
    await this.#looking
    const all = (): Promise<void>[] => [...this.#running.values()].map(({ done }) => done)
    await Promise.race([Promise.all(all()), delay(CLOSE_MS)])
    for (const { interrupt } of this.#running.values()) interrupt.abort('closing' satisfies Interruption)
    await Promise.all(all())
    await Promise.all(this.#stops.map((stop) => stop()))
    await this.#leftovers.close()
  }

  #interruptRun({ spaceId, runId }: Omit<RunRef, 'attempt'>, reason: Interruption): void {
    for (const { task, interrupt } of this.#running.values()) {
      if (task.spaceId === spaceId && task.runId === runId) interrupt.abort(reason)
    }
  }

  /** What a space has of the slots. */
  #runningBySpace(): Map<string, number> {
    const running = new Map(this.#kept)
    for (const { task } of this.#running.values()) {
      running.set(task.spaceId, (running.get(task.spaceId) ?? 0) + 1)
    }
    return running
  }

  #free(): number {
    const kept = [...this.#kept.values()].reduce((sum, slots) => sum + slots, 0)
    return this.#options.slots - this.#running.size - kept
  }

  async #look(): Promise<void> {
    while (this.#lookAgain && !this.#isClosing) {
      this.#lookAgain = false
      try {
        await this.#startReady()
      } catch (error) {
        this.#options.log.debug({ err: error }, 'a look for ready tasks failed')
        // The next end of a task looks again.
        this.#isCrowded = true
        return
      }
    }
  }

  async #startReady(): Promise<void> {
    const { db, slotsOfSpace, folders } = this.#options
    const free = this.#free()
    if (free <= 0) {
      this.#isCrowded = true
      return
    }
    const spaces = await spacesWithReadyTasks(db, folders.id, SPACES_AT_ONCE)
    const shares = shareSlots(free, spaces, this.#runningBySpace(), slotsOfSpace)
    const options = { folder: folders.id, worker: this.id }
    let started = 0
    let hasMore = false
    for (const [spaceId, most] of shares) {
      const tasks = await startReadyTasks<PlannedTask>(db, { ...options, spaceId, most })
      for (const task of tasks) this.#run(task)
      started += tasks.length
      hasMore ||= tasks.length === most
    }
    this.#isCrowded = started >= free || shares.size < spaces.length
    // A space may have more than its first share where others have less than theirs.
    if (hasMore && started < free) this.#lookAgain = true
  }

  /** @param reason its program only ends what it left elsewhere */
  #run(task: StartedTask<PlannedTask>, reason?: Interruption): void {
    const interrupt = new AbortController()
    if (reason !== undefined) interrupt.abort(reason)
    const key = keyOf(task)
    // In the next turn, so that it stands among those that run when it ends.
    const done = Promise.resolve()
      .then(() => this.#runToEnd(task, interrupt.signal))
      .finally(() => {
        if (this.#running.get(key)?.interrupt === interrupt) this.#running.delete(key)
        // Else whatever became ready since was announced, or is announced yet.
        if (this.#isCrowded) this.wake()
      })
    this.#running.set(key, { task, interrupt, done })
    this.#options.onChange(task)
  }

  async #runToEnd(task: StartedTask<PlannedTask>, signal: AbortSignal): Promise<void> {
    const outcome = await execute(this.#options, task, signal)
    if (outcome.kind === 'lost') return
    if (outcome.kind === 'back') return await this.#giveBack(task)
    const settled = await this.#settle(task, outcome)
    if (settled === undefined) return
    this.#running.delete(keyOf(task))
    for (const next of settled.next) this.#run(next)
    await this.#afterwards(task, settled)
  }

  async #afterwards(task: StartedTask, settled: Settled): Promise<void> {
    const { log, db, folders, use, onChange } = this.#options
    const { isEnded, isDone, isLimited, workflowId } = settled
    try {
      if (isEnded && isDone) await folders.removeRun(task)
      use.touch(task.spaceId)
      if (isEnded && isLimited) await admit(db, { ...task, workflowId })
    } catch (error) {
      log.warn({ err: error, run: task.runId }, 'what follows the end of a run failed')
    }
    onChange(task)
  }

  /** What a task came to is written down as soon as the database is there, unless somebody else has the task then. */
  async #settle(
    task: StartedTask,
    outcome: Extract<Outcome, { kind: 'ended' }>,
  ): Promise<Settled | undefined> {
    const { db, log } = this.#options
    for (;;) {
      try {
        const free = this.#isCrowded || this.#isClosing ? 0 : this.#free() + 1
        return await settle(db, this.id, task, outcome, Math.max(0, free))
      } catch (error) {
        log.warn(
          { err: error, run: task.runId, task: task.name },
          'the end of a task is not written down yet',
        )
        if (this.#isClosing) return undefined
        await delay(AGAIN_MS)
      }
    }
  }

  async #giveBack(task: StartedTask): Promise<void> {
    const { db, log } = this.#options
    try {
      await giveBackTask(db, task, this.id)
      await announceReady(db)
    } catch (error) {
      // Its lease runs out.
      log.debug({ err: error, run: task.runId, task: task.name }, 'a task could not be given back')
    }
  }

  async #renew(): Promise<void> {
    if (this.#running.size === 0) return
    const before = [...this.#running.values()]
    const ours = new Map(
      (
        await renewLeases(
          this.#options.db,
          this.id,
          before.map(({ task }) => task),
        )
      ).map((task) => [keyOf(task), task.starts]),
    )
    for (const { task, interrupt } of before) {
      if (ours.get(keyOf(task)) !== task.starts) interrupt.abort('lost' satisfies Interruption)
    }
  }

  async #lookForCancels(): Promise<void> {
    if (this.#running.size === 0) return
    const runs = new Map([...this.#running.values()].map(({ task }) => [task.runId, task]))
    for (const ref of await cancelledAmong(this.#options.db, [...runs.values()])) this.cancel(ref)
  }

  /** Takes up what others left, and what no announcement told of. */
  async #sweep(): Promise<void> {
    const { db, folders, log, slots } = this.#options
    const most = Math.max(0, slots + LOST_AT_ONCE - this.#running.size)
    const lost = await takeLostTasks<PlannedTask>(db, { folder: folders.id, worker: this.id, most })
    for (const task of lost) {
      // Ours, after the database was away for longer than a lease: nobody else has taken it.
      if (this.#running.get(keyOf(task))?.task.starts === task.starts) continue
      log.warn({ run: task.runId, task: task.name, starts: task.starts }, 'a task was left by its process')
      if (task.isCancelled) this.#run(task, 'cancelled')
      else if (task.starts >= MOST_STARTS) this.#run(task, 'worn out')
      else await this.#giveBack(task)
    }
    for (const key of await workflowsWithWaitingRuns(db, folders.id, SPACES_AT_ONCE)) await admit(db, key)
    this.wake()
  }
}
