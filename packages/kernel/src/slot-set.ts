/**
 * What comes and goes with every request, in no order. A Set or a Map would keep alive what has left it: V8's hash
 * tables lead from each that was outgrown to the next, so once one of them is old, all that follow it outlive the
 * collections of young objects, and with them the requests that they held (a fifth of all that was allocated).
 */
export class SlotSet<T extends object> {
  readonly #slots: (T | undefined)[] = []
  readonly #free: number[] = []

  get size(): number {
    return this.#slots.length - this.#free.length
  }

  /** @returns the slot, to be given back once by `delete` */
  add(item: T): number {
    const slot = this.#free.pop() ?? this.#slots.length
    this.#slots[slot] = item
    return slot
  }

  delete(slot: number): void {
    this.#slots[slot] = undefined
    this.#free.push(slot)
  }

  /** Those that are in it now: what is added or deleted later changes nothing. */
  values(): T[] {
    return this.#slots.filter((item) => item !== undefined)
  }
}
