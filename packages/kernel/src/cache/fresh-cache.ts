import { LRUCache } from 'lru-cache'
import { isUnavailable } from '../errors.ts'

/** With the time of the reading itself, what changes holds in every process within one second. */
const FRESH_MS = 800
const MOST_ABSENT = 10_000

/** What a cache needs to know of the database behind it. */
export interface Outage {
  /** Whether the database is known not to answer: asking it would be in vain. */
  readonly isAway: boolean
  /** How long what was read stays good while the database is away, in milliseconds. */
  readonly staleMs: number
}

export interface FreshCacheOptions<V> {
  /** Asked once for all who wait at the same moment. A failure is not kept. */
  readonly read: (key: string) => Promise<V>
  readonly outage: Outage
  readonly maxEntries: number
  /** Whom the answer is about; `forget` forgets all answers about them. The key itself by default. */
  readonly subjectOf?: (key: string) => string
  /**
   * Answers that say that there is no such thing. They are kept apart, so that guessing evicts nobody, and
   * count only while they are fresh: it may have been made since.
   */
  readonly isAbsent?: (value: V) => boolean
  /** For tests; 800 by default. */
  readonly freshMs?: number
}

interface Known<V> {
  readonly value: V
  /** When its reading began: what it shows is at least that new. */
  readonly readAt: number
}

interface Reading<V> {
  readonly startedAt: number
  answer: Promise<V>
  /** Cleared by a change: who waits gets the answer, but it is not kept. */
  keep: boolean
}

/**
 * What the database said, at most 0.8 s ago, counted from the moment its reading began. While the database does
 * not answer, what was known stays good for longer (`outage.staleMs`), unless it was forgotten meanwhile.
 */
export class FreshCache<V extends NonNullable<unknown>> {
  readonly #options: FreshCacheOptions<V>
  readonly #freshMs: number
  readonly #known: LRUCache<string, Known<V>>
  readonly #absent: LRUCache<string, Known<V>>
  readonly #readings = new Map<string, Reading<V>>()
  /** Keys by subject, where these differ. */
  readonly #keysOf = new Map<string, Set<string>>()
  #outdatedAt = Number.NEGATIVE_INFINITY

  constructor(options: FreshCacheOptions<V>) {
    this.#options = options
    this.#freshMs = options.freshMs ?? FRESH_MS
    const upkeep = { noDisposeOnSet: true, dispose: (_: Known<V>, key: string) => this.#unlist(key) }
    this.#known = new LRUCache({ max: options.maxEntries, ...upkeep })
    this.#absent = new LRUCache({ max: Math.min(options.maxEntries, MOST_ABSENT), ...upkeep })
  }

  /** @throws AppError 503 when the database is away and the answer is not known, or no longer */
  async find(key: string): Promise<V> {
    return this.peek(key) ?? this.#read(key)
  }

  /** The answer of `find` where it is at hand. */
  peek(key: string): V | undefined {
    const known = this.#known.get(key)
    if (known === undefined) return this.#peekAbsent(key)
    const age = performance.now() - known.readAt
    if (age < this.#freshMs && known.readAt > this.#outdatedAt) return known.value
    const { outage } = this.#options
    return outage.isAway && age < outage.staleMs ? known.value : undefined
  }

  #peekAbsent(key: string): V | undefined {
    const known = this.#absent.get(key)
    if (known === undefined || known.readAt <= this.#outdatedAt) return undefined
    return performance.now() - known.readAt < this.#freshMs ? known.value : undefined
  }

  /** What is known about the subject no longer holds, in an outage neither. */
  forget(subject: string): void {
    const { subjectOf } = this.#options
    for (const key of subjectOf === undefined ? [subject] : [...(this.#keysOf.get(subject) ?? [])]) {
      this.#known.delete(key)
      this.#absent.delete(key)
    }
    const readings =
      subjectOf === undefined
        ? [this.#readings.get(subject)]
        : [...this.#readings].flatMap(([key, reading]) => (subjectOf(key) === subject ? [reading] : []))
    for (const reading of readings) if (reading !== undefined) reading.keep = false
  }

  /** The same for every answer that a change concerns. It looks at all of them, so this is for rare changes. */
  forgetWhere(isConcerned: (key: string, value: V) => boolean): void {
    for (const cache of [this.#known, this.#absent]) {
      for (const [key, { value }] of [...cache.entries()]) if (isConcerned(key, value)) cache.delete(key)
    }
    for (const reading of this.#readings.values()) reading.keep = false
  }

  /** Forgets a key, and where it was known reads it again at once: the change is known before the next outage. */
  refresh(key: string): void {
    const isInUse = this.#known.has(key) || this.#readings.has(key)
    this.forget(key)
    if (isInUse) this.#read(key).catch(() => {})
  }

  /** Changes may have been missed: everything is read again before it is used, unless the database is away. */
  outdate(): void {
    this.#outdatedAt = performance.now()
  }

  #read(key: string): Promise<V> {
    const now = performance.now()
    const current = this.#readings.get(key)
    // A reading that hangs is not waited for by ever more callers: its answer would be too old.
    const isShared = current?.keep === true && now - current.startedAt < this.#freshMs
    if (isShared && current.startedAt > this.#outdatedAt) return current.answer
    const reading: Reading<V> = { startedAt: now, answer: this.#options.read(key), keep: true }
    this.#readings.set(key, reading)
    reading.answer = this.#keepAnswer(key, reading)
    return reading.answer
  }

  async #keepAnswer(key: string, reading: Reading<V>): Promise<V> {
    try {
      const value = await reading.answer
      if (reading.keep) this.#keep(key, { value, readAt: reading.startedAt })
      return value
    } catch (error) {
      const known = isUnavailable(error) ? this.#known.get(key) : undefined
      if (known === undefined) throw error
      if (performance.now() - known.readAt >= this.#options.outage.staleMs) throw error
      return known.value
    } finally {
      if (this.#readings.get(key) === reading) this.#readings.delete(key)
    }
  }

  #keep(key: string, fresh: Known<V>): void {
    // A slow reading may end after one that began later.
    if ((this.#known.peek(key)?.readAt ?? Number.NEGATIVE_INFINITY) > fresh.readAt) return
    const isAbsent = this.#options.isAbsent?.(fresh.value) === true
    const [home, other] = isAbsent ? [this.#absent, this.#known] : [this.#known, this.#absent]
    other.delete(key)
    home.set(key, fresh)
    this.#list(key)
  }

  #list(key: string): void {
    const { subjectOf } = this.#options
    if (subjectOf === undefined) return
    const subject = subjectOf(key)
    const keys = this.#keysOf.get(subject) ?? new Set<string>()
    this.#keysOf.set(subject, keys.add(key))
  }

  #unlist(key: string): void {
    const { subjectOf } = this.#options
    if (subjectOf === undefined) return
    const subject = subjectOf(key)
    const keys = this.#keysOf.get(subject)
    if (keys?.delete(key) === true && keys.size === 0) this.#keysOf.delete(subject)
  }
}
