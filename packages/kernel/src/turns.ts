interface Waiting {
  /** @param isTurn false: it was given up */
  readonly settle: (isTurn: boolean) => void
}

export interface WaitingRoom {
  readonly ofTenant: number
  readonly ofAll: number
  /** What `take` throws when one more comes. */
  readonly refusal: () => Error
}

/**
 * Lets so many pieces of work begin in a round of the event loop. While nobody waits, whoever comes begins at once; else
 * tenants take turns, so that one of them waits for a few pieces of another's work and never for its queue.
 */
export class Turns {
  readonly #perRound: number
  readonly #room: WaitingRoom | undefined
  /** Who waits, by tenant; the tenant whose turn is next stands first. */
  readonly #queues = new Map<string, Set<Waiting>>()
  #waiting = 0
  #begun = 0
  #isCounting = false

  /** @param room how many may wait; by default any number does */
  constructor(perRound: number, room?: WaitingRoom) {
    this.#perRound = perRound
    this.#room = room
  }

  /** Pieces of work that wait. */
  get waiting(): number {
    return this.#waiting
  }

  /** Tenants whose work waits. */
  get tenants(): number {
    return this.#queues.size
  }

  /**
   * @param onGone told how to give the place up, where that may happen
   * @returns undefined when the work may begin at once, else whether it may, in its turn, or gave its place up
   * @throws the refusal when too many wait
   */
  take(tenant: string, onGone?: (leave: () => void) => void): Promise<boolean> | undefined {
    if (this.#waiting === 0 && this.#begun < this.#perRound) {
      this.#begin()
      return undefined
    }
    const queue = this.#queues.get(tenant) ?? new Set<Waiting>()
    const room = this.#room
    if (room !== undefined && (queue.size >= room.ofTenant || this.#waiting >= room.ofAll)) {
      throw room.refusal()
    }
    return new Promise((settle) => {
      const place = { settle }
      this.#queues.set(tenant, queue.add(place))
      this.#waiting += 1
      onGone?.(() => {
        if (this.#leave(tenant, place)) settle(false)
      })
    })
  }

  #begin(): void {
    this.#begun += 1
    if (this.#isCounting) return
    this.#isCounting = true
    setImmediate(this.#nextRound)
  }

  readonly #nextRound = (): void => {
    this.#isCounting = false
    this.#begun = 0
    while (this.#begun < this.#perRound) {
      const [first] = this.#queues
      if (first === undefined) return
      const [tenant, queue] = first
      const [place] = queue
      if (place === undefined) throw new Error('a queue without anybody was kept')
      this.#leave(tenant, place)
      // The others come first now.
      if (queue.size > 0) {
        this.#queues.delete(tenant)
        this.#queues.set(tenant, queue)
      }
      this.#begin()
      place.settle(true)
    }
  }

  #leave(tenant: string, place: Waiting): boolean {
    const queue = this.#queues.get(tenant)
    if (queue?.delete(place) !== true) return false
    this.#waiting -= 1
    if (queue.size === 0) this.#queues.delete(tenant)
    return true
  }
}
