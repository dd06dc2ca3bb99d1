import { type Analyse, isIndexOf, type Json } from '../../domain/filter/filter.ts'
import { isArray, isScalar } from '../../domain/filter/metadata-tree.ts'
import { labelOf, valueLabel } from './metadata-column-labels.ts'
import { ORDERED_END } from './metadata-column-order.ts'
import type { BatchEntries, PathEntries } from './metadata-column-scalars.ts'

interface Labels {
  readonly facets: readonly string[]
  readonly ordered: string
  /** The item has more labels than allowed, and not all are here. */
  readonly isCut: boolean
}

/** A value that a path reaches. */
interface Reached {
  readonly value: Json
  /** It is the value of a key, not an element that an index picked. */
  readonly isField: boolean
}

/** An object that a path reaches, and the length of the array that it is an element of, else 0. */
interface Holder {
  readonly object: Readonly<Record<string, Json>>
  readonly siblings: number
}

/**
 * All that filters may find in one item's metadata.
 * @param entries of the batch that the item is in, all analysed alike
 */
export function labelsOf(tree: Json, analyse: Analyse, limit: number, entries: BatchEntries): Labels {
  const walk = new LabelWalk(analyse, limit, entries)
  if (isHolder(tree)) walk.fields('', tree)
  const ordered = walk.ordered.size === 0 ? '' : [...walk.ordered].join('') + ORDERED_END
  return { facets: [...walk.facets], ordered, isCut: walk.isCut }
}

type JsonFields = Readonly<Record<string, Json>>

class LabelWalk {
  readonly facets = new Set<string>()
  readonly ordered = new Set<string>()
  readonly #analyse: Analyse
  #left: number
  readonly #limit: number
  readonly #entries: BatchEntries

  constructor(analyse: Analyse, limit: number, entries: BatchEntries) {
    this.#analyse = analyse
    this.#entries = entries
    this.#limit = limit
    // Several visits may give the same labels: they are bounded too.
    this.#left = 4 * limit
  }

  get isCut(): boolean {
    return this.#left < 0 || this.facets.size > this.#limit
  }

  /** The keys of an object outside of arrays: each path has one value. */
  fields(prefix: string, object: JsonFields): void {
    for (const key in object) {
      const value = object[key] as Json
      const path = prefix + key
      this.#value(path, value)
      if (isScalar(value)) continue
      if (isArray(value)) this.#below(path, [{ value, isField: true }])
      else this.fields(`${path}.`, value as JsonFields)
    }
  }

  /** What equality, ranges and texts find at a path. */
  #value(path: string, value: Json): void {
    const entries = this.#entries.at(path)
    this.facets.add(entries.exists)
    this.#one(entries, value)
    if (isScalar(value) || !isArray(value)) return
    this.facets.add(labelOf('array', path))
    for (const item of value) {
      if (this.isCut) return
      this.#one(entries, item)
    }
  }

  #one(entries: PathEntries, value: Json): void {
    this.#left -= 1
    if (!isScalar(value)) {
      this.facets.add(valueLabel(entries.path, value))
      return
    }
    const { labels, ordered } = entries.of(value, this.#analyse, this.#limit)
    for (const label of labels) this.facets.add(label)
    if (ordered !== undefined) this.ordered.add(ordered)
  }

  /** The paths below one that reaches an array, or goes through one. */
  #below(path: string, reached: readonly Reached[]): void {
    const holders: Holder[] = []
    const children = new Map<string, Reached[]>()
    for (const { value, isField } of reached) {
      if (isScalar(value)) {
        if (isField) this.facets.add(labelOf('plain', path))
      } else if (isArray(value)) {
        for (const [index, item] of value.entries()) {
          if (isHolder(item)) holders.push({ object: item, siblings: value.length })
          push(children, String(index), { value: item, isField: false })
        }
      } else if (isHolder(value)) {
        holders.push({ object: value, siblings: 0 })
      }
    }
    if (holders.length > 0) this.facets.add(labelOf('object', path))
    for (const { object } of holders) {
      for (const [key, value] of Object.entries(object)) push(children, key, { value, isField: true })
    }
    for (const [key, values] of children) {
      const child = `${path}.${key}`
      if (holders.some((holder) => lacks(holder, key))) this.facets.add(labelOf('lack', child))
      for (const { value } of values) {
        this.#value(child, value)
        if (this.isCut) return
      }
      this.#below(child, values)
      if (this.isCut) return
    }
  }
}

const isHolder = (value: Json): value is JsonFields => !isScalar(value) && !isArray(value)

const lacks = ({ object, siblings }: Holder, key: string): boolean =>
  !Object.hasOwn(object, key) && !isIndexOf(key, siblings)

function push(children: Map<string, Reached[]>, key: string, value: Reached): void {
  const there = children.get(key)
  if (there === undefined) children.set(key, [value])
  else there.push(value)
}
