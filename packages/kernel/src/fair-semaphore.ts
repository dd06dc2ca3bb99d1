import { TenantLines } from './tenant-lines.ts'

/** Lets so many pieces of work run at once. Tenants whose work waits take turns, each in the order in which it came. */
export class FairSemaphore {
  #free: number
  /** What begins the work that waits. */
  readonly #lines = new TenantLines<() => void>()

  constructor(atOnce: number) {
    this.#free = atOnce
  }

  /** Pieces of work of a tenant that wait. */
  waitingOf(tenant: string): number {
    return this.#lines.sizeOf(tenant)
  }

  /** @throws what the work throws */
  async run<T>(tenant: string, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1
    else await new Promise<void>((begin) => this.#lines.push(tenant, begin))
    try {
      return await work()
    } finally {
      this.#passOn()
    }
  }

  #passOn(): void {
    const begin = this.#lines.shift()
    if (begin === undefined) this.#free += 1
    else begin()
  }
}
