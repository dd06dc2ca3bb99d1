import { FairSemaphore } from '@atrium/kernel/fair-semaphore'
import type { Logger } from '@atrium/kernel/log'
import type { EngineRun, EngineRunState, WorkflowEngine } from '../ports.ts'
import {
  markSubmitted,
  type RunKey,
  selectActive,
  selectSubmission,
  selectUnsubmitted,
  updateRun,
} from '../queries/run-changes.ts'
import { type RunRow, selectRunById } from '../queries/runs.ts'
import type { WorkflowsDb } from '../queries/tables.ts'
import { changeBy, isEnded } from './run-states.ts'
import { isFull, RunLane } from './runs/run-lane.ts'

export interface RunKeeperDeps {
  readonly db: WorkflowsDb
  /** Undefined: runs can be read, and nothing else. */
  readonly engine: WorkflowEngine | undefined
  readonly log: Logger
}

/** Changes that an engine tells of within so many milliseconds are looked at together. */
const SETTLE_MS = 25
/** Runs handed over at once by this process; as many are looked at for a request, and for what the engine told. */
const AT_ONCE = 4
/** Runs that the engine is told to end, or to forget. */
const ENDED_AT_ONCE = 2
/** Others that changed a run meanwhile: after so many the next look will do. */
const TRIES = 5
/** What a process that died may have left unsubmitted for so long is submitted by another. */
const UNSUBMITTED_MS = 5000
const SWEPT_AT_ONCE = 100

const LOST = 'The engine does not know this run any more'

/**
 * Keeps what is on record of runs and what the engine knows of them the same. Runs are recorded first, handed over
 * second, and observed from then on; every step may be repeated, so whatever a crash broke off is done by the next
 * sweep. Each kind of work has a lane of its own, in which spaces take turns: the end of a thousand runs holds up the
 * begin of none.
 */
export class RunKeeper {
  readonly #deps: RunKeeperDeps
  readonly #submissions = new FairSemaphore(AT_ONCE)
  readonly #removals = new FairSemaphore(ENDED_AT_ONCE)
  readonly #asked = new RunLane(AT_ONCE, (spaceId, runId) => this.#reconcile(spaceId, runId))
  readonly #told = new RunLane(AT_ONCE, (spaceId, runId) => this.#reconcile(spaceId, runId))
  readonly #cancels = new RunLane(ENDED_AT_ONCE, (spaceId, runId) => this.#cancel(spaceId, runId))
  readonly #waiting = new Map<string, NodeJS.Timeout>()
  readonly #underWay = new Set<Promise<void>>()
  #after: RunKey | undefined
  #isClosed = false

  constructor(deps: RunKeeperDeps) {
    this.#deps = deps
    deps.engine?.onChange(({ spaceId, runId }) => this.#lookSoon(spaceId, runId))
  }

  /** Hands a new run over, in the background. */
  begin(run: Omit<EngineRun, 'attempt' | 'finished'>): void {
    this.#inBackground(this.#submissions, run, () => this.#submit({ ...run, attempt: 1, finished: [] }))
  }

  /** Hands over an attempt that is on record, in the background. */
  resume(spaceId: string, runId: string): void {
    this.#inBackground(this.#submissions, { spaceId, runId }, () => this.#submitRecorded(spaceId, runId))
  }

  /** Tells the engine that a run is to end, in the background. The record says so already. */
  cancel(spaceId: string, runId: string): void {
    if (!this.#isClosed && !this.#cancels.isFull(spaceId))
      this.#track({ spaceId, runId }, this.#cancels.ask(spaceId, runId))
  }

  /** Makes the engine forget a run that is gone, in the background. */
  forget(spaceId: string, runId: string): void {
    this.#inBackground(this.#removals, { spaceId, runId }, async () =>
      this.#deps.engine?.remove({ spaceId, runId }),
    )
  }

  /** Brings the record of a run up to date, for somebody who waits for it. */
  look(spaceId: string, runId: string): Promise<void> {
    return this.#asked.ask(spaceId, runId)
  }

  /**
   * Sees to what nobody told of: runs that were not handed over, and a part of those that have not ended, the next part
   * the next time: of a thousand each one every twenty seconds. One that fails keeps no other waiting. For one process
   * at a time.
   * @throws what the first of those that failed threw, at the end
   */
  async sweep(): Promise<void> {
    const { db, engine } = this.#deps
    if (engine === undefined) return
    const late = await selectUnsubmitted(db, engine.name, UNSUBMITTED_MS, SWEPT_AT_ONCE)
    const submitted = await Promise.allSettled(
      late.map(({ space_id, run_id }) =>
        this.#submissions.run(space_id, () => this.#submitRecorded(space_id, run_id)),
      ),
    )
    const active = await selectActive(db, engine.name, this.#after, SWEPT_AT_ONCE)
    this.#after = active.length < SWEPT_AT_ONCE ? undefined : active.at(-1)
    const seen = await Promise.allSettled(active.map((run) => this.#told.ask(run.space_id, run.run_id)))
    const failed = [...submitted, ...seen].find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw failed.reason
  }

  /** Lets what is under way end. */
  async close(): Promise<void> {
    this.#isClosed = true
    for (const timer of this.#waiting.values()) clearTimeout(timer)
    this.#waiting.clear()
    await Promise.allSettled([...this.#underWay, ...this.#asked.underWay, ...this.#told.underWay])
    // A look may have asked for one.
    await Promise.allSettled(this.#cancels.underWay)
  }

  #lookSoon(spaceId: string, runId: string): void {
    const key = `${spaceId}/${runId}`
    if (this.#isClosed || this.#waiting.has(key)) return
    const timer = setTimeout(() => {
      this.#waiting.delete(key)
      if (!this.#told.isFull(spaceId)) this.#track({ spaceId, runId }, this.#told.ask(spaceId, runId))
    }, SETTLE_MS)
    this.#waiting.set(key, timer)
  }

  #inBackground(
    lane: FairSemaphore,
    run: { spaceId: string; runId: string },
    work: () => Promise<void>,
  ): void {
    if (!this.#isClosed && !isFull(lane, run.spaceId)) this.#track(run, lane.run(run.spaceId, work))
  }

  #track({ spaceId, runId }: { spaceId: string; runId: string }, work: Promise<void>): void {
    const tracked = work
      .catch((err: unknown) => this.#deps.log.warn({ err, spaceId, runId }, 'a run waits for the next sweep'))
      .finally(() => this.#underWay.delete(tracked))
    this.#underWay.add(tracked)
  }

  async #submit(run: EngineRun): Promise<void> {
    const { db, engine } = this.#deps
    if (engine === undefined) return
    await engine.submit(run)
    const { spaceId, runId, attempt } = run
    const status = await markSubmitted(db, { space_id: spaceId, run_id: runId, attempt })
    // It was cancelled or deleted meanwhile, by somebody who could not tell the engine yet.
    if (status === undefined || status === 'Cancelling' || isEnded(status))
      await engine.cancel({ spaceId, runId, attempt })
  }

  async #submitRecorded(spaceId: string, runId: string): Promise<void> {
    const found = await selectSubmission(this.#deps.db, spaceId, runId)
    if (found === undefined) return
    const { workflow_id, attempt, plan, finished } = found
    await this.#submit({ spaceId, runId, workflowId: workflow_id, attempt, tasks: plan, finished })
  }

  async #cancel(spaceId: string, runId: string): Promise<void> {
    // The record says so: another process sees to it.
    if (this.#isClosed) return
    const run = await selectRunById(this.#deps.db, spaceId, runId)
    if (run === undefined || run.status !== 'Cancelling') return
    if (run.submitted_attempt < run.attempt) await this.#submitRecorded(spaceId, runId)
    else await this.#deps.engine?.cancel({ spaceId, runId, attempt: run.attempt })
  }

  async #reconcile(spaceId: string, runId: string): Promise<void> {
    const { db, engine } = this.#deps
    for (let tries = 0; tries < TRIES && engine !== undefined; tries++) {
      const run = await selectRunById(db, spaceId, runId)
      if (run === undefined || isEnded(run.status) || run.engine !== engine.name) return
      if (run.submitted_attempt < run.attempt) return
      const ref = { spaceId, runId, attempt: run.attempt }
      const state = (await engine.observe(ref)) ?? lost(run)
      if (state.attempt !== run.attempt) return
      if (run.status === 'Cancelling' && !state.isEnded && !state.isCancelled) this.cancel(spaceId, runId)
      const change = changeBy(
        { ...run, startedAt: run.started_at, completedAt: run.completed_at },
        state,
        new Date(),
      )
      if (change === undefined) return
      const update = { spaceId, runId, rowVersion: run.row_version, attempt: run.attempt, ...change }
      if (await updateRun(db, update)) return
    }
  }
}

/** How a run stands that the engine took over and lost: what it ran may have had effects, so nothing is run again. */
const lost = (run: RunRow): EngineRunState => ({
  attempt: run.attempt,
  isEnded: true,
  isCancelled: run.status === 'Cancelling',
  tasks: run.tasks.flatMap(({ name, status, startedAt }) =>
    run.status !== 'Cancelling' && (status === 'Running' || status === 'Pending')
      ? [
          {
            name,
            status: 'Failed' as const,
            message: LOST,
            startedAt: startedAt === null ? undefined : new Date(startedAt),
            completedAt: new Date(),
          },
        ]
      : [],
  ),
})
