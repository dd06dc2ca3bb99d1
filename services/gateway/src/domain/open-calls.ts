import { SlotSet } from '@atrium/kernel/slot-set'

/** The calls that are not charged yet: the recorder stays open for them. */
export class OpenCalls {
  readonly #open = new SlotSet<Promise<unknown>>()

  /** @returns the same promise */
  add<T>(call: Promise<T>): Promise<T> {
    const slot = this.#open.add(call)
    const remove = (): void => this.#open.delete(slot)
    call.then(remove, remove)
    return call
  }

  /** Resolves when none is open. */
  async ended(): Promise<void> {
    while (this.#open.size > 0) await Promise.allSettled(this.#open.values())
  }
}
