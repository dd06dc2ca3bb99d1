import { invalidInput } from '@atrium/kernel/errors'
import { type Filter, isObject, type Json } from './filter.ts'
import { isJsonWithin, METADATA_DEPTH, metadataTree } from './metadata-tree.ts'

/** What one filter may ask for: enough for people, and a bound on what a query costs. */
export const FILTER_LIMITS = {
  depth: 16,
  conditions: 256,
  /** Filters inside `$and`, `$or` and `$nor`, empty ones too. */
  parts: 512,
  /** Each is an expression to compile and a column to scan. */
  ranges: 16,
  listValues: 1000,
  values: 2000,
  pathLength: 512,
  pathSegments: METADATA_DEPTH,
  valueLength: 65_536,
  /** UTF-16 units of a string in a range. */
  rangeLength: 100,
  textLength: 4096,
  texts: 64,
} as const

/**
 * Reads a filter of vector search: a plain value means equality.
 * @param at names the filter in errors, e.g. `body.metadataFilter`
 * @throws AppError 400 naming the path of what is wrong
 */
export function parseFilter(input: unknown, at = 'body.metadataFilter'): Filter {
  return new FilterParser(false).object(input, at, 1)
}

/** Reads a filter of keyword search: a plain string is matched as analysed text, anything else as `parseFilter`. */
export function parseKeywordFilter(input: unknown, at = 'body.metadataFilter'): Filter {
  return new FilterParser(true).object(input, at, 1)
}

const LOGICAL = ['$and', '$or', '$nor'] as const
const OPERATORS = ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$in', '$nin', '$exists', '$not'] as const

const isOneOf = <T extends string>(names: readonly T[], name: string): name is T =>
  (names as readonly string[]).includes(name)

const all = (parts: readonly Filter[]): Filter => {
  const [only, ...others] = parts
  return only !== undefined && others.length === 0 ? only : { kind: 'and', parts }
}
const not = (part: Filter): Filter => ({ kind: 'not', part })

const shown = (key: string): string => (key.length > 100 ? `${key.slice(0, 100)}…` : key)

/** One pass over a filter; what it may still ask for is counted down. */
class FilterParser {
  readonly #isKeyword: boolean
  #conditions = 0
  #parts = 0
  #ranges = 0
  #texts = 0
  #values = 0

  constructor(isKeyword: boolean) {
    this.#isKeyword = isKeyword
  }

  object(input: unknown, at: string, depth: number): Filter {
    demandDepth(at, depth)
    this.#parts += 1
    if (this.#parts > FILTER_LIMITS.parts) {
      throw invalidInput(at, `makes more than ${FILTER_LIMITS.parts} filters in one`)
    }
    if (!isObject(input)) throw invalidInput(at, 'must be an object')
    return all(
      Object.entries(input).map(([key, value]) => {
        const name = `${at}.${shown(key)}`
        if (!key.startsWith('$')) return this.#field(key, value, name, depth)
        if (isOneOf(LOGICAL, key)) return this.#logical(key, value, name, depth)
        throw invalidInput(
          name,
          isOneOf(OPERATORS, key)
            ? 'is an operator on a field and needs one before it'
            : `is no known operator: there are ${LOGICAL.join(', ')} here and ${OPERATORS.join(', ')} on a field`,
        )
      }),
    )
  }

  #logical(operator: (typeof LOGICAL)[number], value: unknown, at: string, depth: number): Filter {
    if (!Array.isArray(value) || value.length === 0) {
      throw invalidInput(at, 'must be an array of at least one filter')
    }
    if (value.length > FILTER_LIMITS.conditions) {
      throw invalidInput(at, `must have at most ${FILTER_LIMITS.conditions} filters`)
    }
    const parts = value.map((part, index) => this.object(part, `${at}[${index}]`, depth + 1))
    if (operator === '$and') return all(parts)
    const any: Filter = { kind: 'or', parts }
    return operator === '$or' ? any : not(any)
  }

  #field(key: string, value: unknown, at: string, depth: number): Filter {
    if (key.length > FILTER_LIMITS.pathLength) {
      throw invalidInput(at, `must be a path of at most ${FILTER_LIMITS.pathLength} characters`)
    }
    const path = key.toWellFormed()
    if (path.split('.').length > FILTER_LIMITS.pathSegments) {
      throw invalidInput(at, `must be a path of at most ${FILTER_LIMITS.pathSegments} keys`)
    }
    if (isObject(value) && Object.keys(value).some((name) => name.startsWith('$'))) {
      return this.#operators(path, value, at, depth + 1)
    }
    if (this.#isKeyword && typeof value === 'string') return this.#text(path, value, at)
    return this.#in(path, [value], () => at)
  }

  #operators(path: string, operators: Readonly<Record<string, unknown>>, at: string, depth: number): Filter {
    demandDepth(at, depth)
    return all(
      Object.entries(operators).map(([operator, operand]) => {
        const name = `${at}.${shown(operator)}`
        if (!isOneOf(OPERATORS, operator)) {
          throw invalidInput(name, `is no known operator: there are ${OPERATORS.join(', ')}`)
        }
        return this.#operator(path, operator, operand, name, depth)
      }),
    )
  }

  #operator(
    path: string,
    operator: (typeof OPERATORS)[number],
    operand: unknown,
    at: string,
    depth: number,
  ): Filter {
    switch (operator) {
      case '$eq':
        return this.#in(path, [operand], () => at)
      case '$ne':
        return not(this.#in(path, [operand], () => at))
      case '$in':
      case '$nin': {
        if (!Array.isArray(operand)) throw invalidInput(at, 'must be an array of values')
        if (operand.length > FILTER_LIMITS.listValues) {
          throw invalidInput(at, `must have at most ${FILTER_LIMITS.listValues} values`)
        }
        const any = this.#in(path, operand, (index) => `${at}[${index}]`)
        return operator === '$in' ? any : not(any)
      }
      case '$exists':
        if (typeof operand !== 'boolean') throw invalidInput(at, 'must be true or false')
        this.#count(at)
        return operand ? { kind: 'exists', path } : not({ kind: 'exists', path })
      case '$not':
        if (!isObject(operand) || !Object.keys(operand).some((name) => name.startsWith('$'))) {
          throw invalidInput(at, 'must be an object of operators')
        }
        return not(this.#operators(path, operand, at, depth + 1))
      default:
        return this.#range(path, operator, operand, at)
    }
  }

  #in(path: string, values: readonly unknown[], at: (index: number) => string): Filter {
    this.#count(at(0))
    this.#values += values.length
    if (this.#values > FILTER_LIMITS.values) {
      throw invalidInput(at(0), `makes more than ${FILTER_LIMITS.values} values in one filter`)
    }
    return { kind: 'in', path, values: values.map((value, index) => literalOf(value, at(index))) }
  }

  #range(path: string, operator: '$gt' | '$gte' | '$lt' | '$lte', operand: unknown, at: string): Filter {
    this.#count(at)
    if (typeof operand === 'boolean' || operand === null) {
      const values = ORDERED_PAIRS.filter((pair) => typeof pair === typeof operand)
      return { kind: 'in', path, values: values.filter((value) => isWithin(value, operator, operand)) }
    }
    if (typeof operand !== 'number' && typeof operand !== 'string') {
      throw invalidInput(at, 'must be a number, a string, a boolean or null')
    }
    if (typeof operand === 'string' && operand.length > FILTER_LIMITS.rangeLength) {
      throw invalidInput(at, `must be a string of at most ${FILTER_LIMITS.rangeLength} characters`)
    }
    this.#ranges += 1
    if (this.#ranges > FILTER_LIMITS.ranges) {
      throw invalidInput(at, `makes more than ${FILTER_LIMITS.ranges} ranges in one filter`)
    }
    if (typeof operand === 'string') return { kind: 'range', path, operator, bound: operand.toWellFormed() }
    demandFinite(operand, at)
    return { kind: 'range', path, operator, bound: operand }
  }

  #text(path: string, text: string, at: string): Filter {
    this.#count(at)
    this.#texts += 1
    if (this.#texts > FILTER_LIMITS.texts) {
      throw invalidInput(at, `makes more than ${FILTER_LIMITS.texts} texts in one filter`)
    }
    if (text.length > FILTER_LIMITS.textLength) {
      throw invalidInput(at, `must be a text of at most ${FILTER_LIMITS.textLength} characters`)
    }
    return { kind: 'text', path, text: text.toWellFormed() }
  }

  #count(at: string): void {
    this.#conditions += 1
    if (this.#conditions > FILTER_LIMITS.conditions) {
      throw invalidInput(at, `makes more than ${FILTER_LIMITS.conditions} conditions in one filter`)
    }
  }
}

// false comes before true, and null is equal to null alone: a range over them is a short list.
const ORDERED_PAIRS = [false, true, null] as const

function isWithin(
  value: boolean | null,
  operator: '$gt' | '$gte' | '$lt' | '$lte',
  bound: boolean | null,
): boolean {
  if (operator.endsWith('e') && value === bound) return true
  return operator.startsWith('$g') ? Number(value) > Number(bound) : Number(value) < Number(bound)
}

function demandDepth(at: string, depth: number): void {
  if (depth > FILTER_LIMITS.depth) throw invalidInput(at, `is deeper than ${FILTER_LIMITS.depth} levels`)
}

function demandFinite(value: number, at: string): void {
  if (!Number.isFinite(value)) throw invalidInput(at, 'is a number beyond the range of a double')
}

/** Any JSON value, checked: whole arrays and objects may be compared too. */
function literalOf(value: unknown, at: string): Json {
  // Before anything walks through it.
  if (typeof value === 'object' && value !== null) demandLength(Object.keys(value).length, at)
  if (typeof value === 'number') demandFinite(value, at)
  if (!isJsonWithin(value, FILTER_LIMITS.depth)) {
    throw invalidInput(
      at,
      `must be a JSON value of at most ${FILTER_LIMITS.depth} levels, its numbers doubles`,
    )
  }
  demandNoOperator(value, at)
  demandLength(typeof value === 'string' ? value.length : JSON.stringify(value).length, at)
  return metadataTree(value)
}

function demandLength(length: number, at: string): void {
  if (length > FILTER_LIMITS.valueLength) {
    throw invalidInput(at, `must be at most ${FILTER_LIMITS.valueLength} characters long`)
  }
}

/** An operator inside a value is a mistake that would find nothing in silence. */
function demandNoOperator(value: Json, at: string): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, child] of Object.entries(value)) {
    const name = `${at}.${shown(key)}`
    if (key.startsWith('$')) throw invalidInput(name, 'is an operator inside a value')
    demandNoOperator(child, name)
  }
}
