/** At most so many things at once; the others wait in their order. */
export class Slots {
  readonly #waiting: (() => void)[] = []
  #free: number

  constructor(count: number) {
    this.#free = count
  }

  /** Resolves when there is a place; what it resolves with gives the place back. */
  async take(): Promise<() => void> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return () => {
      const next = this.#waiting.shift()
      if (next === undefined) this.#free += 1
      else next()
    }
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    const giveBack = await this.take()
    try {
      return await work()
    } finally {
      giveBack()
    }
  }
}
