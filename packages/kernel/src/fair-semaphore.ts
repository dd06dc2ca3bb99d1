/** Lets so many pieces of work run at once. Tenants whose work waits take turns, each in the order in which it came. */
export class FairSemaphore {
  #free: number
  /** What begins the work that waits, by tenant; the tenant whose turn is next stands first. */
  readonly #lines = new Map<string, (() => void)[]>()

  constructor(atOnce: number) {
    this.#free = atOnce
  }

  /** Pieces of work of a tenant that wait. */
  waitingOf(tenant: string): number {
    return this.#lines.get(tenant)?.length ?? 0
  }

  /** @throws what the work throws */
  async run<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((begin) => this.#wait(tenant, begin))
    try {
      return await work()
    } finally {
      this.#passOn()
    }
  }

  #wait(tenant: string, begin: () => void): void {
    const line = this.#lines.get(tenant)
    if (line === undefined) this.#lines.set(tenant, [begin])
    else line.push(begin)
  }

  #passOn(): void {
    const [first] = this.#lines
    if (first === undefined) {
      this.#free += 1
      return
    }
    const [tenant, line] = first
    const begin = line.shift()
    // The others come first now.
    this.#lines.delete(tenant)
    if (line.length > 0) this.#lines.set(tenant, line)
    begin?.()
  }
}
