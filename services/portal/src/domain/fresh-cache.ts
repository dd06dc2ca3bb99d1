import { LRUCache } from 'lru-cache'

interface Entry<V> {
  /** When its reading began: what it shows is at least that new. */
  readonly startedAt: number
  readonly value: Promise<V>
}

/**
 * Answers that may be up to `maxAgeMs` old, counted from the moment their reading began. Callers that
 * ask at the same moment share one reading; failures are not kept.
 */
export class FreshCache<V> {
  readonly #entries: LRUCache<string, Entry<V>>
  readonly #dropped: LRUCache<string, number>
  readonly #maxAgeMs: number
  #clearedAt = Number.NEGATIVE_INFINITY

  constructor(options: { maxAgeMs: number; maxEntries: number }) {
    this.#maxAgeMs = options.maxAgeMs
    this.#entries = new LRUCache({ max: options.maxEntries })
    this.#dropped = new LRUCache({ max: 10_000 })
  }

  /** @param subject whom the answer is about; `drop(subject)` forgets all answers about them */
  get(subject: string, detail: string, read: () => Promise<V>): Promise<V> {
    const key = `${subject} ${detail}`
    const now = performance.now()
    const known = this.#entries.get(key)
    if (known !== undefined && this.#isFresh(known.startedAt, subject, now)) return known.value
    const entry: Entry<V> = { startedAt: now, value: read() }
    this.#entries.set(key, entry)
    entry.value.catch(() => {
      if (this.#entries.peek(key) === entry) this.#entries.delete(key)
    })
    return entry.value
  }

  drop(subject: string): void {
    this.#dropped.set(subject, performance.now())
  }

  clear(): void {
    this.#clearedAt = performance.now()
  }

  #isFresh(startedAt: number, subject: string, now: number): boolean {
    // A marker pushed out of its bounded map early only means that age alone decides.
    const since = Math.max(this.#clearedAt, this.#dropped.get(subject) ?? Number.NEGATIVE_INFINITY)
    return now - startedAt < this.#maxAgeMs && startedAt > since
  }
}
