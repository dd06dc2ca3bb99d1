import { LRUCache } from 'lru-cache'

/** No addition waits longer than this, in milliseconds, however many came before it. */
const LONGEST_WAIT_MS = 5000

/**
 * A leaky bucket for each of many, such as stores: work flows at a steady rate, and whoever comes too early waits.
 * Unlike a token bucket it saves nothing up that a burst could use.
 */
export class LeakyBuckets {
  readonly #perSecond: number
  /** When the next piece of work may begin. */
  readonly #free = new LRUCache<string, number>({ max: 10_000 })

  /** @param perSecond how much work is done in a second */
  constructor(perSecond: number) {
    this.#perSecond = perSecond
  }

  /** Waits until it is the turn of so much work. */
  async wait(whose: string, work: number): Promise<void> {
    const now = Date.now()
    const begin = Math.min(Math.max(now, this.#free.get(whose) ?? 0), now + LONGEST_WAIT_MS)
    this.#free.set(whose, begin + (1000 * work) / this.#perSecond)
    if (begin > now) await new Promise((resolve) => setTimeout(resolve, begin - now))
  }
}
