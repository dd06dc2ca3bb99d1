import type { RangeOperator } from '../../domain/filter/filter.ts'
import { escaped } from './metadata-column-labels.ts'

// An entry is ENTRY path VALUE type text, and the next ENTRY ends it: the lowest character of all, so that a
// text comes before its continuations.
const ENTRY = '\u0001'
const VALUE = '\u0002'

/**
 * How much of a string is kept for ranges, in UTF-16 units. A bound has at most 100, which escaping at most
 * doubles: one more decides every comparison with it.
 */
const KEPT = 201

/** What all entries of a path begin with. */
export type OrderedPath = string & { readonly OrderedPath: never }

export const orderedPath = (path: string): OrderedPath => (ENTRY + escaped(path) + VALUE) as OrderedPath

/** One entry of the column `ordered`, without its end. */
export const orderedAt = (path: OrderedPath, value: string | number): string => path + orderedText(value)

/** Closes a row of the column `ordered`. */
export const ORDERED_END = ENTRY

const bits = new DataView(new ArrayBuffer(8))

/** Text whose order by code points is that of the values of one type, and which tells the types apart. */
function orderedText(value: string | number): string {
  if (typeof value === 'string') return `s${cut(escaped(value))}`
  bits.setFloat64(0, value + 0)
  const high = bits.getUint32(0)
  const low = bits.getUint32(4)
  // Negative doubles grow with their bits: all bits turned, and the others above them by the sign bit.
  return high >= 0x80000000 ? `n${hex(~high)}${hex(~low)}` : `n${hex(high + 0x80000000)}${hex(low)}`
}

const DIGITS = Uint8Array.from('0123456789abcdef', (digit) => digit.charCodeAt(0))

/** Eight digits; `toString(16)` takes ten times as long beyond 31 bits. */
function hex(word: number): string {
  const digit = (at: number) => DIGITS[(word >>> at) & 15] as number
  return String.fromCharCode(
    digit(28),
    digit(24),
    digit(20),
    digit(16),
    digit(12),
    digit(8),
    digit(4),
    digit(0),
  )
}

function cut(text: string): string {
  if (text.length <= KEPT) return text
  const end = text.charCodeAt(KEPT - 1)
  return text.slice(0, end >= 0xd800 && end <= 0xdbff ? KEPT + 1 : KEPT)
}

/**
 * A regular expression (Rust's) that finds an entry of this path with a value of the bound's type in the range.
 * @returns undefined where nothing can be in the range
 */
export function rangePattern(
  path: string,
  operator: RangeOperator,
  bound: string | number,
): string | undefined {
  if (operator === '$lt' && bound === '') return undefined
  const [type = '', ...text] = orderedText(bound)
  const start = `${ENTRY}${escaped(path)}${VALUE}${type}`
  return [...start].map(literal).join('') + beyond(text, operator)
}

// Groups may nest 250 levels in Rust's expressions: a block of characters is one level.
const BLOCK = 16

/** What follows where a text is beyond the bound: it departs from it at one of its characters, or at its end. */
function beyond(text: readonly string[], operator: RangeOperator): string {
  const isUp = operator.startsWith('$g')
  const block = text.slice(0, BLOCK)
  const choices = block.flatMap((char, at) => {
    const departure = isUp ? above(char) : below(char)
    return departure === undefined ? [] : [block.slice(0, at).map(literal).join('') + departure]
  })
  const rest = text.slice(BLOCK)
  const tail = rest.length > 0 ? beyond(rest, operator) : endOf(operator)
  if (tail !== undefined) choices.push(block.map(literal).join('') + tail)
  return `(?:${choices.join('|')})`
}

/** What follows a text that began as the whole bound. */
function endOf(operator: RangeOperator): string | undefined {
  if (operator === '$gte') return ''
  if (operator === '$gt') return `[^${literal(ENTRY)}]`
  return operator === '$lte' ? literal(ENTRY) : undefined
}

const LAST = 0x10ffff

function above(char: string): string | undefined {
  const code = (char.codePointAt(0) ?? 0) + 1
  if (code > LAST) return undefined
  return `[${hexCode(code === 0xd800 ? 0xe000 : code)}-${hexCode(LAST)}]`
}

// An end (ENTRY) is below every character.
function below(char: string): string {
  const code = (char.codePointAt(0) ?? 0) - 1
  return `[${literal(ENTRY)}-${hexCode(code === 0xdfff ? 0xd7ff : code)}]`
}

const hexCode = (code: number): string => `\\x{${code.toString(16)}}`
const literal = (char: string): string => (/\w/.test(char) ? char : hexCode(char.codePointAt(0) ?? 0))
