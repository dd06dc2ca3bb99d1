import { TenantLines } from './tenant-lines.ts'

/** @param isTurn false: the place was given up */
type Settle = (isTurn: boolean) => void

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
  readonly #lines = new TenantLines<Settle>()
  #begun = 0
  #isCounting = false

  /** @param room how many may wait; by default any number does */
  constructor(perRound: number, room?: WaitingRoom) {
    this.#perRound = perRound
    this.#room = room
  }

  /** Pieces of work that wait. */
  get waiting(): number {
    return this.#lines.size
  }

  /** Tenants whose work waits. */
  get tenants(): number {
    return this.#lines.tenants
  }

  /**
   * @param onGone told how to give the place up, where that may happen
   * @returns undefined when the work may begin at once, else whether it may, in its turn, or gave its place up
   * @throws the refusal when too many wait
   */
  take(tenant: string, onGone?: (leave: () => void) => void): Promise<boolean> | undefined {
    const lines = this.#lines
    if (lines.size === 0 && this.#begun < this.#perRound) {
      this.#begin()
      return undefined
    }
    const room = this.#room
    if (room !== undefined && (lines.sizeOf(tenant) >= room.ofTenant || lines.size >= room.ofAll)) {
      throw room.refusal()
    }
    return new Promise((settle) => {
      const leave = lines.push(tenant, settle)
      onGone?.(() => leave()?.(false))
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
      const settle = this.#lines.shift()
      if (settle === undefined) return
      this.#begin()
      settle(true)
    }
  }
}
