import type { Notifications } from '@atrium/kernel/db'
import type { Logger } from '@atrium/kernel/log'
import { tooManyFollowers } from '../../errors.ts'
import { RUN_CHANGED } from '../../queries/run-changes.ts'

const MOST = 2000
const MOST_OF_A_SPACE = 100

/** Who waits for changes of runs, in this process. */
export class RunFollowers {
  readonly #wakes = new Map<string, Set<() => void>>()
  readonly #ofSpace = new Map<string, number>()
  #count = 0
  readonly #stop = new AbortController()

  /** Hears of changes from now on, whichever process makes them. */
  async listen(notifications: Notifications, log: Logger): Promise<void> {
    notifications.onGap(() => this.#wakeAll())
    await notifications
      .subscribe(RUN_CHANGED, (run) => this.#wake(run))
      // Followers look by themselves now and then.
      .catch((err: unknown) => log.warn({ err }, 'changes of runs are not announced to this process'))
  }

  /** Takes a place; `leave` gives it back. @throws AppError 429 when there is none */
  enter(spaceId: string): () => void {
    const ofSpace = this.#ofSpace.get(spaceId) ?? 0
    if (this.#count >= MOST || ofSpace >= MOST_OF_A_SPACE) throw tooManyFollowers()
    this.#count += 1
    this.#ofSpace.set(spaceId, ofSpace + 1)
    let isIn = true
    return () => {
      if (!isIn) return
      isIn = false
      this.#count -= 1
      const left = (this.#ofSpace.get(spaceId) ?? 1) - 1
      if (left === 0) this.#ofSpace.delete(spaceId)
      else this.#ofSpace.set(spaceId, left)
    }
  }

  /** Aborted when the server stops: who follows goes on elsewhere. */
  get stopped(): AbortSignal {
    return this.#stop.signal
  }

  stop(): void {
    this.#stop.abort()
  }

  /**
   * Resolves at the run's next change, at the latest after `ms`, or when the signal is aborted. Changes count from the
   * moment of the call on.
   */
  nextChange(spaceId: string, runId: string, ms: number, signal: AbortSignal): Promise<void> {
    const key = `${spaceId}/${runId}`
    return new Promise((resolve) => {
      const wakes = this.#wakes.get(key) ?? new Set()
      this.#wakes.set(key, wakes)
      const end = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', end)
        wakes.delete(end)
        if (wakes.size === 0 && this.#wakes.get(key) === wakes) this.#wakes.delete(key)
        resolve()
      }
      const timer = setTimeout(end, ms)
      wakes.add(end)
      signal.addEventListener('abort', end)
      if (signal.aborted) end()
    })
  }

  #wake(run: string): void {
    for (const wake of [...(this.#wakes.get(run) ?? [])]) wake()
  }

  #wakeAll(): void {
    for (const run of [...this.#wakes.keys()]) this.#wake(run)
  }
}
