import type { Analyse } from '../../domain/filter/filter.ts'
import type { Scalar } from '../../domain/filter/metadata-tree.ts'
import { type LabelledPath, labelAt, labelledPath, valueLabelAt } from './metadata-column-labels.ts'
import { type OrderedPath, orderedAt, orderedPath } from './metadata-column-order.ts'

/** What a scalar at a path brings to the columns of its row. */
export interface ScalarEntries {
  /** Distinct. */
  readonly labels: readonly string[]
  /** Of numbers and strings. */
  readonly ordered: string | undefined
}

/** Longer strings are rarely in several rows. */
const LONGEST_KEPT = 64
/** Paths and values of a batch that are kept: a hostile one has millions, each of them once. */
const MOST_KEPT = 50_000

/** How many more a batch may keep. */
interface Room {
  left: number
}

/** What one path brings to the columns, in whatever row it is. */
export class PathEntries {
  readonly path: string
  readonly exists: string
  readonly #labelled: LabelledPath
  readonly #ordered: OrderedPath
  readonly #room: Room
  readonly #kept = new Map<Scalar, ScalarEntries>()

  constructor(path: string, room: Room) {
    this.path = path
    this.#room = room
    this.#labelled = labelledPath(path)
    this.#ordered = orderedPath(path)
    this.exists = labelAt(this.#labelled, 'exists')
  }

  /** @param most of labels: with more than these, it does not matter how many they are */
  of(value: Scalar, analyse: Analyse, most: number): ScalarEntries {
    if (typeof value === 'string' && value.length > LONGEST_KEPT) return this.#make(value, analyse, most)
    let found = this.#kept.get(value)
    if (found === undefined) {
      found = this.#make(value, analyse, most)
      if (this.#room.left-- > 0) this.#kept.set(value, found)
    }
    return found
  }

  #make(value: Scalar, analyse: Analyse, most: number): ScalarEntries {
    const own = valueLabelAt(this.#labelled, value)
    if (typeof value === 'number') return { labels: [own], ordered: orderedAt(this.#ordered, value) }
    if (typeof value !== 'string') return { labels: [own], ordered: undefined }
    const terms = new Set(analyse(value))
    const labels = [own]
    for (const term of terms) {
      if (labels.length > most) break
      labels.push(labelAt(this.#labelled, 'term', term))
    }
    return { labels, ordered: orderedAt(this.#ordered, value) }
  }
}

/** The entries of a batch's rows, made once each: most keys are in all rows, and many have few values. */
export class BatchEntries {
  readonly #room: Room = { left: MOST_KEPT }
  readonly #paths = new Map<string, PathEntries>()

  at(path: string): PathEntries {
    let found = this.#paths.get(path)
    if (found === undefined) {
      found = new PathEntries(path, this.#room)
      if (this.#room.left-- > 0) this.#paths.set(path, found)
    }
    return found
  }
}
