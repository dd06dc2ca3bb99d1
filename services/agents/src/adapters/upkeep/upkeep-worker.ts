import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { RetrievalLocation } from '../lancedb/retrieval.ts'
import type { ChildAnswer, ChildRequest } from './child-work.ts'
import type { UpkeepResult, UpkeepTask } from './optimize.ts'

/** Child processes end when they have had nothing to do for so long, in milliseconds. */
const IDLE_MS = 10_000

/** Searches and writes go first; a tenth of a busy core remains, so that work comes to an end. */
const NICENESS = { urgent: 0, background: 10 }

interface Waiting {
  readonly child: ChildProcess
  readonly resolve: (done: UpkeepResult) => void
  readonly reject: (error: Error) => void
}

/**
 * Does the heavy work on tables in processes of their own, mostly of low priority: building an index takes all the cores it
 * gets, and within this process searches would wait for it, seconds at worst.
 */
export class UpkeepWorker {
  readonly #location: RetrievalLocation
  readonly #waiting = new Map<number, Waiting>()
  /** By niceness. */
  readonly #children = new Map<number, ChildProcess>()
  #idle: NodeJS.Timeout | undefined
  #lastId = 0
  #isClosed = false

  constructor(location: RetrievalLocation) {
    this.#location = location
  }

  /** @throws Error when the work failed, its process died, or this is closed */
  run(task: UpkeepTask): Promise<UpkeepResult> {
    if (this.#isClosed) return Promise.reject(new Error('The upkeep of tables has stopped'))
    clearTimeout(this.#idle)
    const child = this.#started(task.isUrgent ? NICENESS.urgent : NICENESS.background)
    const id = ++this.#lastId
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { child, resolve, reject })
      child.send({ id, location: this.#location, task } satisfies ChildRequest, (error) => {
        if (error !== null) this.#settle(id, ({ reject }) => reject(error))
      })
    })
  }

  /** Ends the children at once, for good: its work is committed as a whole or not at all. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#idle)
    const alive = [...this.#children.values()].filter(
      ({ pid, exitCode, signalCode }) => pid !== undefined && exitCode === null && signalCode === null,
    )
    const ends = alive.map((child) => once(child, 'exit'))
    this.#end()
    await Promise.all(ends)
  }

  #end(): void {
    for (const child of this.#children.values()) child.kill('SIGKILL')
    this.#children.clear()
  }

  #started(niceness: number): ChildProcess {
    const running = this.#children.get(niceness)
    if (running !== undefined) return running
    const child = fork(new URL('./child.ts', import.meta.url), [String(niceness)], {
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      execArgv: [],
    })
    this.#children.set(niceness, child)
    child.on('message', (answer: ChildAnswer) => {
      this.#settle(answer.id, ({ resolve, reject }) =>
        'done' in answer ? resolve(answer.done) : reject(new Error(answer.error)),
      )
    })
    child.on('exit', (code, signal) => {
      if (this.#children.get(niceness) === child) this.#children.delete(niceness)
      const lost = [...this.#waiting].filter(([, waiting]) => waiting.child === child)
      for (const [id] of lost) {
        this.#settle(id, ({ reject }) =>
          reject(new Error(`The process for the upkeep of tables ended (${signal ?? code})`)),
        )
      }
    })
    child.on('error', () => child.kill('SIGKILL'))
    child.unref()
    child.channel?.unref()
    return child
  }

  #settle(id: number, how: (waiting: Waiting) => void): void {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    if (waiting !== undefined) how(waiting)
    if (this.#waiting.size === 0 && !this.#isClosed) {
      clearTimeout(this.#idle)
      this.#idle = setTimeout(() => this.#end(), IDLE_MS)
      this.#idle.unref()
    }
  }
}
