import {
  type Analyse,
  type Filter,
  isIndexOf,
  type Json,
  type JsonObject,
  type RangeOperator,
} from './filter.ts'
import { isArray, metadataTree } from './metadata-tree.ts'

/**
 * Whether a document's metadata passes a filter: the meaning of filters in so many words. The engine's
 * predicate is tested against it.
 * @param metadata absent metadata is `{}`
 * @param analyse the store's text analysis
 */
export function matches(filter: Filter, metadata: JsonObject, analyse: Analyse): boolean {
  return holds(filter, metadataTree(metadata), analyse)
}

function holds(filter: Filter, tree: Json, analyse: Analyse): boolean {
  switch (filter.kind) {
    case 'and':
      return filter.parts.every((part) => holds(part, tree, analyse))
    case 'or':
      return filter.parts.some((part) => holds(part, tree, analyse))
    case 'not':
      return !holds(filter.part, tree, analyse)
    case 'exists':
      return valuesAt(tree, filter.path).some((value) => value !== MISSING)
    case 'in': {
      const wanted = new Set(filter.values.map(identity))
      return valuesAt(tree, filter.path).some((value) => wanted.has(identity(value)))
    }
    case 'range':
      return valuesAt(tree, filter.path).some((value) => isWithin(value, filter.operator, filter.bound))
    case 'text':
      return isTextWithin(filter.text, valuesAt(tree, filter.path), analyse)
  }
}

function isTextWithin(text: string, values: readonly Found[], analyse: Analyse): boolean {
  const terms = analyse(text)
  const strings = values.filter((value) => typeof value === 'string')
  // A text of stop words alone ("it", as a language or a country) still has to be findable.
  if (terms.length === 0) return strings.includes(text)
  const found = new Set(strings.flatMap(analyse))
  return terms.every((term) => found.has(term))
}

const MISSING = Symbol('missing')
type Found = Json | typeof MISSING

// Missing equals null, as in the document store; numbers are doubles; the order of an object's keys counts.
const identity = (value: Found): string => (value === MISSING ? 'null' : JSON.stringify(value))

function isWithin(value: Found, operator: RangeOperator, bound: string | number): boolean {
  const order = compare(value, bound)
  if (order === undefined) return false
  if (operator === '$gt') return order > 0
  if (operator === '$gte') return order >= 0
  return operator === '$lt' ? order < 0 : order <= 0
}

function compare(value: Found, bound: string | number): number | undefined {
  if (typeof value === 'number' && typeof bound === 'number') return value - bound
  if (typeof value !== 'string' || typeof bound !== 'string') return undefined
  // Code point order, which is that of UTF-8 but not of JavaScript's strings.
  return Buffer.compare(Buffer.from(value), Buffer.from(bound))
}

/** The values that a path addresses: of an array that it ends at, the elements too. */
function valuesAt(tree: Json, path: string): readonly Found[] {
  const found: Found[] = []
  for (const value of follow(tree, path.split('.'), true)) {
    found.push(value)
    if (value !== MISSING && typeof value === 'object' && value !== null && isArray(value)) {
      found.push(...value)
    }
  }
  return found
}

/**
 * @param isField whether the value is that of an object's key: a bare element of an array in the middle of
 *   a path addresses nothing, and does not count as missing either
 */
function* follow(value: Json, path: readonly string[], isField: boolean): Generator<Found> {
  const [segment, ...rest] = path
  if (segment === undefined) {
    yield value
  } else if (typeof value !== 'object' || value === null) {
    if (isField) yield MISSING
  } else if (isArray(value)) {
    const element = isIndexOf(segment, value.length) ? value[Number(segment)] : undefined
    if (element !== undefined) yield* follow(element, rest, false)
    for (const item of value) {
      if (typeof item !== 'object' || item === null || isArray(item)) continue
      const child = Object.hasOwn(item, segment) ? item[segment] : undefined
      if (child !== undefined) yield* follow(child, rest, true)
      else if (element === undefined) yield MISSING
    }
  } else {
    const child = Object.hasOwn(value, segment) ? value[segment] : undefined
    if (child === undefined) yield MISSING
    else yield* follow(child, rest, true)
  }
}
