import type { Notifications } from '@atrium/kernel/db'
import { tooManyLogReaders } from '../../errors.ts'
import { RUN_CHANGED } from '../../queries/run-changes.ts'
import { LOG_GREW } from '../../queries/run-logs.ts'

/** One of those who wait for news of a run. */
export interface Follower {
  /** Resolves when there may be news since the last call, at once if there were some meanwhile, or when it is to end. */
  news(): Promise<void>
  /** It is to end: its reader is gone, the time is over, or the process stops. */
  readonly isOver: boolean
  end(): void
}

/** At once in this process, of one space. */
const FOLLOWERS_A_SPACE = 100
/** What nobody told of is seen after so long. */
const LOOK_ANYWAY_MS = 15_000
/** After so long a reader must come again, with a credential that is still good. */
const LONGEST_MS = 10 * 60_000

/** Wakes those who follow runs when the database tells that something of them has changed. */
export class LogFollowers {
  readonly #waking = new Map<string, Set<() => void>>()
  readonly #bySpace = new Map<string, Set<Follower>>()

  async listen(notifications: Notifications): Promise<void> {
    for (const channel of [LOG_GREW, RUN_CHANGED]) {
      await notifications.subscribe(channel, (run) => {
        for (const wake of this.#waking.get(run) ?? []) wake()
      })
    }
    notifications.onGap(() => {
      for (const waking of this.#waking.values()) for (const wake of waking) wake()
    })
  }

  /** How many there are in this process. */
  get size(): number {
    return [...this.#bySpace.values()].reduce((sum, followers) => sum + followers.size, 0)
  }

  /** @throws AppError 429 when the space has too many already */
  follow(spaceId: string, runId: string): Follower {
    const ofSpace = this.#bySpace.get(spaceId) ?? new Set()
    if (ofSpace.size >= FOLLOWERS_A_SPACE) throw tooManyLogReaders(FOLLOWERS_A_SPACE)
    let hasNews = true
    let isOver = false
    let waiting: (() => void) | undefined
    const wake = (): void => {
      hasNews = true
      waiting?.()
    }
    const key = `${spaceId}/${runId}`
    const looking = setInterval(wake, LOOK_ANYWAY_MS)
    const follower: Follower = {
      get isOver() {
        return isOver
      },
      async news() {
        if (!hasNews && !isOver) {
          await new Promise<void>((resolve) => {
            waiting = resolve
          })
          waiting = undefined
        }
        hasNews = false
      },
      end: () => {
        if (isOver) return
        isOver = true
        clearInterval(looking)
        clearTimeout(ending)
        remove(this.#waking, key, wake)
        remove(this.#bySpace, spaceId, follower)
        waiting?.()
      },
    }
    const ending = setTimeout(follower.end, LONGEST_MS)
    add(this.#waking, key, wake)
    add(this.#bySpace, spaceId, follower)
    return follower
  }

  /** The process stops: nobody follows any more. */
  close(): void {
    for (const followers of this.#bySpace.values()) for (const follower of [...followers]) follower.end()
  }
}

function add<T>(map: Map<string, Set<T>>, key: string, value: T): void {
  const known = map.get(key) ?? new Set()
  map.set(key, known.add(value))
}

function remove<T>(map: Map<string, Set<T>>, key: string, value: T): void {
  const known = map.get(key)
  known?.delete(value)
  if (known?.size === 0) map.delete(key)
}
