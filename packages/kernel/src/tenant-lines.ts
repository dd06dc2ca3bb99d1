/** Places of a line that were left and still stand in it, at least, before they are taken out. */
const TIDIED = 64

interface Place<T> {
  /** Undefined once its turn came or it was given up. */
  item: T | undefined
}

/** The places of one tenant. Arrays, for what leaves a Set outlives it: SlotSet says how. */
class Line<T extends object> {
  /** How many wait. */
  size = 0
  #places: Place<T>[] = []
  #next = 0

  push(item: T): Place<T> {
    if (this.#places.length >= 2 * this.size + TIDIED) this.#tidy()
    const place: Place<T> = { item }
    this.#places.push(place)
    this.size += 1
    return place
  }

  /** The one that came first leaves. @throws Error when nobody waits */
  shift(): T {
    for (; this.#next < this.#places.length; this.#next++) {
      const item = this.leave(this.#places[this.#next])
      if (item !== undefined) return item
    }
    throw new Error('nobody waits in this line')
  }

  /** @returns undefined when it had left before */
  leave(place: Place<T> | undefined): T | undefined {
    const item = place?.item
    if (place === undefined || item === undefined) return undefined
    place.item = undefined
    this.size -= 1
    return item
  }

  #tidy(): void {
    this.#places = this.#places.filter(({ item }) => item !== undefined)
    this.#next = 0
  }
}

/** What waits for tenants: they take turns, each with what came first. */
export class TenantLines<T extends object> {
  /** The tenant whose turn is next stands first. */
  readonly #lines = new Map<string, Line<T>>()
  #size = 0

  /** How many wait, in all. */
  get size(): number {
    return this.#size
  }

  /** Tenants for whom something waits. */
  get tenants(): number {
    return this.#lines.size
  }

  sizeOf(tenant: string): number {
    return this.#lines.get(tenant)?.size ?? 0
  }

  /** @returns gives the place up; undefined then says that its turn had come or that it was given up before */
  push(tenant: string, item: T): () => T | undefined {
    const line = this.#lines.get(tenant) ?? new Line<T>()
    this.#lines.set(tenant, line)
    const place = line.push(item)
    this.#size += 1
    return () => {
      const left = line.leave(place)
      if (left !== undefined) this.#left(tenant, line)
      return left
    }
  }

  /** Takes what is next, of the tenant whose turn it is; undefined when nothing waits. */
  shift(): T | undefined {
    const [first] = this.#lines
    if (first === undefined) return undefined
    const [tenant, line] = first
    const item = line.shift()
    this.#left(tenant, line)
    // The others come first now.
    if (line.size > 0 && this.#lines.size > 1) {
      this.#lines.delete(tenant)
      this.#lines.set(tenant, line)
    }
    return item
  }

  #left(tenant: string, line: Line<T>): void {
    this.#size -= 1
    if (line.size === 0) this.#lines.delete(tenant)
  }
}
