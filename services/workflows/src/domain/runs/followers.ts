import type { Notifications } from '@atrium/kernel/db'
import type { AppError } from '@atrium/kernel/errors'
import type { Logger } from '@atrium/kernel/log'

/** One of those who wait for news of a run. */
export interface Follower {
  /**
   * Resolves when there may be news since the last call, at once if there were some meanwhile, after a while of quiet,
   * or when it is to end.
   */
  news(): Promise<void>
  /** It is to end: its reader is gone, the time is over, or the process stops. */
  readonly isOver: boolean
  end(): void
}

/** At once in this process. */
const MOST = 2000
const MOST_OF_A_SPACE = 100
/** What nobody told of is seen after so long; and proxies end connections on which nothing is said for a minute. */
const QUIET_MS = 10_000
/** After so long a reader must come again, with a credential that is still good. */
const LONGEST_MS = 10 * 60_000

/** Wakes those who follow runs when the database tells that something of them has changed. */
export class Followers {
  readonly #channels: readonly string[]
  readonly #refusal: (mostOfSpace: number) => AppError
  readonly #waking = new Map<string, Set<() => void>>()
  readonly #bySpace = new Map<string, Set<Follower>>()
  #size = 0

  /**
   * @param channels of the database; a payload is `<spaceId>/<runId>`
   * @param refusal of one more than there may be
   */
  constructor(channels: readonly string[], refusal: (mostOfSpace: number) => AppError) {
    this.#channels = channels
    this.#refusal = refusal
  }

  /** Hears of changes from now on, whichever process makes them. */
  async listen(notifications: Notifications, log: Logger): Promise<void> {
    notifications.onGap(() => {
      for (const run of [...this.#waking.keys()]) this.#wake(run)
    })
    for (const channel of this.#channels) {
      await notifications
        .subscribe(channel, (run) => this.#wake(run))
        // Followers look by themselves now and then.
        .catch((err: unknown) =>
          log.warn({ err, channel }, 'changes of runs are not announced to this process'),
        )
    }
  }

  /** Takes a place, which `end` gives back. @throws AppError when there is none */
  follow(spaceId: string, runId: string): Follower {
    const ofSpace = this.#bySpace.get(spaceId) ?? new Set()
    if (this.#size >= MOST || ofSpace.size >= MOST_OF_A_SPACE) throw this.#refusal(MOST_OF_A_SPACE)
    let hasNews = true
    let isOver = false
    let waiting: (() => void) | undefined
    const wake = (): void => {
      hasNews = true
      waiting?.()
    }
    const key = `${spaceId}/${runId}`
    const follower: Follower = {
      get isOver() {
        return isOver
      },
      async news() {
        if (!hasNews && !isOver) await new Promise<void>((resolve) => (waiting = resolve))
        waiting = undefined
        hasNews = false
      },
      end: () => {
        if (isOver) return
        isOver = true
        clearInterval(looking)
        clearTimeout(ending)
        remove(this.#waking, key, wake)
        remove(this.#bySpace, spaceId, follower)
        this.#size -= 1
        waiting?.()
      },
    }
    const looking = setInterval(wake, QUIET_MS)
    const ending = setTimeout(follower.end, LONGEST_MS)
    add(this.#waking, key, wake)
    add(this.#bySpace, spaceId, follower)
    this.#size += 1
    return follower
  }

  /** The process stops: nobody follows any more. */
  close(): void {
    for (const followers of [...this.#bySpace.values()]) for (const follower of [...followers]) follower.end()
  }

  #wake(run: string): void {
    for (const wake of this.#waking.get(run) ?? []) wake()
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
