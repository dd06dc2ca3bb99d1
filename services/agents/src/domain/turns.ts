/** Lets so many pieces of work run at once; the rest wait in the order in which they came. */
export class Turns {
  readonly #atOnce: number
  readonly #waiting: (() => void)[] = []
  #running = 0

  constructor(atOnce: number) {
    this.#atOnce = atOnce
  }

  get isIdle(): boolean {
    return this.#running === 0
  }

  /** Pieces of work that run or wait. */
  get length(): number {
    return this.#running + this.#waiting.length
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) await new Promise<void>((resolve) => this.#waiting.push(resolve))
    else this.#running++
    try {
      return await work()
    } finally {
      // The place goes to the next in line, so that nobody can come between.
      const next = this.#waiting.shift()
      if (next === undefined) this.#running--
      else next()
    }
  }
}

/** Turns for each of many, such as spaces: the work of one does not wait for another's. */
export class TurnsOfEach {
  readonly #atOnce: number
  readonly #turns = new Map<string, Turns>()

  /** @param atOnce for each of them */
  constructor(atOnce: number) {
    this.#atOnce = atOnce
  }

  async run<T>(whose: string, work: () => Promise<T>): Promise<T> {
    const turns = this.#turns.get(whose) ?? new Turns(this.#atOnce)
    this.#turns.set(whose, turns)
    try {
      return await turns.run(work)
    } finally {
      if (turns.isIdle) this.#turns.delete(whose)
    }
  }
}
