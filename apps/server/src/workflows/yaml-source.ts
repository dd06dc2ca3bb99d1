import { OperatorError } from '@atrium/kernel/errors'
import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  type Pair,
  parseDocument,
} from 'yaml'

export type YamlPath = readonly (string | number)[]

export interface Place {
  readonly line: number
  readonly column: number
}

/** What is wrong with a file, and where; lines count from 1. */
export interface FileFault extends Place {
  readonly message: string
}

const MOST_ALIASES = 100

/** A reference that begins a value, or goes on with one, in a mapping or list on one line. */
const UNQUOTED = /[{[].*\$\{/

/** YAML that knows where in its text everything stands. */
export class YamlSource {
  /** Mistakes of the YAML itself. */
  readonly faults: readonly FileFault[]
  readonly #document: Document.Parsed
  readonly #lines = new LineCounter()

  constructor(text: string) {
    this.#document = parseDocument(text, { lineCounter: this.#lines, prettyErrors: false })
    const { errors } = this.#document
    const faults = errors.map(({ message, pos }) => ({ ...this.#at(pos[0]), message }))
    const [first] = faults
    const line = text.split('\n')[(first?.line ?? 1) - 1] ?? ''
    // A brace that nobody quoted: what follows from it says nothing more.
    this.faults =
      first !== undefined && UNQUOTED.test(line)
        ? [{ ...first, message: `${first.message}; a text with \${…} within {} or [] stands in quotes` }]
        : faults
  }

  /** The content as JSON could say it. @throws OperatorError for aliases that grow without end */
  value(): unknown {
    try {
      return this.#document.toJS({ maxAliasCount: MOST_ALIASES })
    } catch (error) {
      throw new OperatorError(error instanceof Error ? error.message : String(error), { cause: error })
    }
  }

  /** Where something begins, a pair with its key; of what is not there the nearest that would hold it. */
  placeOf(path: YamlPath): Place {
    for (let length = path.length; length > 0; length -= 1) {
      const found = this.#pairAt(path.slice(0, length))
      const start = ((isPair(found) ? found.key : found) as Node | undefined)?.range?.[0]
      if (start !== undefined) return this.#at(start)
    }
    return { line: 1, column: 1 }
  }

  /** A number or truth value as it is written: `1.10` is no `1.1`. Undefined where it is no such thing. */
  writtenAt(path: YamlPath): string | undefined {
    const pair = this.#pairAt(path)
    const node = this.#resolved(isPair(pair) ? pair.value : pair)
    return isScalar(node) && typeof node.value !== 'string' ? node.source : undefined
  }

  #at(offset: number): Place {
    const { line, col } = this.#lines.linePos(offset)
    return { line: Math.max(1, line), column: Math.max(1, col) }
  }

  #resolved(node: unknown): unknown {
    return isAlias(node) ? node.resolve(this.#document) : node
  }

  /** The pair of a mapping, or the item of a sequence. */
  #pairAt(path: YamlPath): Pair | Node | undefined {
    let found: unknown = this.#document.contents
    for (const step of path) {
      const inside = this.#resolved(isPair(found) ? found.value : found)
      if (isMap(inside))
        found = inside.items.find(({ key }) => isScalar(key) && String(key.value) === String(step))
      else if (isSeq(inside)) found = inside.items[Number(step)]
      else return undefined
    }
    return (found ?? undefined) as Pair | Node | undefined
  }
}
