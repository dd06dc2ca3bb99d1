/** @param isTurn false: the place was given up */
type Settle = (isTurn: boolean) => void

interface Place {
  /** Undefined once its turn came or it was given up. */
  settle: Settle | undefined
}

/** The places of one tenant. Arrays, for what leaves a Set outlives it: SlotSet says how. */
class Line {
  /** How many wait. */
  size = 0
  #places: Place[] = []
  #next = 0

  push(settle: Settle): Place {
    if (this.#places.length >= 2 * this.size + TIDIED) this.#tidy()
    const place: Place = { settle }
    this.#places.push(place)
    this.size += 1
    return place
  }

  /** The one that came first leaves. @throws Error when nobody waits */
  shift(): Settle {
    for (; this.#next < this.#places.length; this.#next++) {
      const settle = this.leave(this.#places[this.#next])
      if (settle !== undefined) return settle
    }
    throw new Error('nobody waits in this line')
  }

  /** @returns undefined when it had left before */
  leave(place: Place | undefined): Settle | undefined {
    const settle = place?.settle
    if (place === undefined || settle === undefined) return undefined
    place.settle = undefined
    this.size -= 1
    return settle
  }

  #tidy(): void {
    this.#places = this.#places.filter(({ settle }) => settle !== undefined)
    this.#next = 0
  }
}

/** Places that were left and are still in a line, at least, before they are taken out. */
const TIDIED = 64

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
  readonly #lines = new Map<string, Line>()
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
    return this.#lines.size
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
    const line = this.#lines.get(tenant) ?? new Line()
    const room = this.#room
    if (room !== undefined && (line.size >= room.ofTenant || this.#waiting >= room.ofAll)) {
      throw room.refusal()
    }
    return new Promise((settle) => {
      this.#lines.set(tenant, line)
      const place = line.push(settle)
      this.#waiting += 1
      onGone?.(() => {
        const left = line.leave(place)
        if (left === undefined) return
        this.#left(tenant, line)
        left(false)
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
      const [first] = this.#lines
      if (first === undefined) return
      const [tenant, line] = first
      const settle = line.shift()
      this.#left(tenant, line)
      // The others come first now.
      if (line.size > 0 && this.#lines.size > 1) {
        this.#lines.delete(tenant)
        this.#lines.set(tenant, line)
      }
      this.#begin()
      settle(true)
    }
  }

  #left(tenant: string, line: Line): void {
    this.#waiting -= 1
    if (line.size === 0) this.#lines.delete(tenant)
  }
}
