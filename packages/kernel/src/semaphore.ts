import pLimit, { type LimitFunction } from 'p-limit'

interface WaitingRoom {
  readonly most: number
  readonly refusal: () => Error
}

/** Lets so many pieces of work run at once; the rest wait in the order in which they came. */
export class Semaphore {
  readonly #limit: LimitFunction
  readonly #waiting: WaitingRoom | undefined

  /** @param waiting how many may wait, and what `run` throws when one more comes; by default any number waits */
  constructor(atOnce: number, waiting?: WaitingRoom) {
    this.#limit = pLimit(atOnce)
    this.#waiting = waiting
  }

  get isIdle(): boolean {
    return this.length === 0
  }

  /** Pieces of work that run or wait. */
  get length(): number {
    return this.#limit.activeCount + this.#limit.pendingCount
  }

  /** @throws what the work throws, and the refusal when too many wait already */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const { concurrency } = this.#limit
    if (this.#waiting !== undefined && this.length >= concurrency + this.#waiting.most) {
      throw this.#waiting.refusal()
    }
    return this.#limit(work)
  }
}

/** Semaphores without work that are kept: a Map that each request enters and leaves keeps what left it (SlotSet says how). */
const MOST_IDLE = 1000

/** A semaphore for each of many, such as spaces: the work of one waits for no other's. */
export class KeyedSemaphore {
  readonly #make: () => Semaphore
  readonly #semaphores = new Map<string, Semaphore>()

  /** Both for each of them; see Semaphore. */
  constructor(atOnce: number, waiting?: WaitingRoom) {
    this.#make = () => new Semaphore(atOnce, waiting)
  }

  /** How many have work. */
  get size(): number {
    let size = 0
    for (const semaphore of this.#semaphores.values()) if (!semaphore.isIdle) size += 1
    return size
  }

  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const semaphore = this.#semaphores.get(key) ?? this.#make()
    this.#semaphores.set(key, semaphore)
    try {
      return await semaphore.run(work)
    } finally {
      if (this.#semaphores.size > MOST_IDLE) this.#forget(key, semaphore)
    }
  }
  #forget(key: string, semaphore: Semaphore): void {
    // Whoever ended in the same moment may have removed it, and another may have come since.
    if (semaphore.isIdle && this.#semaphores.get(key) === semaphore) this.#semaphores.delete(key)
  }
}
