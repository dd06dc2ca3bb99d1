/**
 * Rows of numbers straight from JSON text into 32-bit floats. `JSON.parse` makes text, then doubles, then arrays of
 * them, all of which are garbage a moment later: that costs more than storing the vectors does.
 */

const OPEN = 0x5b
const CLOSE = 0x5d
const COMMA = 0x2c
const MINUS = 0x2d
const PLUS = 0x2b
const DOT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const SPACE = 0x20

/** Powers of ten that a double holds exactly. */
const POWERS = Float64Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`))
/** Text of a number beyond which the sum of its digits could overflow. */
const LONGEST_NUMBER = 300

/** Four digits at once: bytes from 0x30 to 0x39 have a high half of 3, also with 6 added to each. */
const areDigits = (word: number): boolean =>
  (word & 0xf0f0f0f0) === 0x30303030 && ((word + 0x06060606) & 0xf0f0f0f0) === 0x30303030

/** Their value; the first digit is in the lowest byte. */
function fourDigits(word: number): number {
  const digits = word & 0x0f0f0f0f
  const pairs = (Math.imul(digits, 10) + (digits >>> 8)) & 0x00ff00ff
  return Math.imul(pairs & 0xff, 100) + (pairs >>> 16)
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from
  let byte = bytes[at] as number
  while (byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[++at] as number
  return at
}

/** `digits × 10^exponent`. */
function scaled(digits: number, exponent: number): number {
  if (exponent === 0) return digits
  if (exponent < 0 && exponent >= -22) return digits / (POWERS[-exponent] as number)
  if (exponent > 0 && exponent <= 22) return digits * (POWERS[exponent] as number)
  return Number(`${digits}e${exponent}`)
}

/** The signed exponent at an offset behind the `e`, and where it ends; undefined when there is none. */
function readExponent(bytes: Uint8Array, from: number): { value: number; end: number } | undefined {
  const sign = bytes[from]
  const start = sign === MINUS || sign === PLUS ? from + 1 : from
  let at = start
  let value = 0
  for (let byte = bytes[at] as number; byte >= ZERO && byte <= NINE; byte = bytes[++at] as number) {
    value = Math.min(10_000, value * 10 + (byte - ZERO))
  }
  return at === start ? undefined : { value: sign === MINUS ? -value : value, end: at }
}

/** Where the text of one request's rows is, and what they are read into. */
interface Reading {
  readonly bytes: Uint8Array
  readonly view: DataView
  readonly values: Float32Array
  readonly dimension: number
}

/**
 * Reads a row of exactly so many JSON numbers, each at most two units in a double's last place off.
 *
 * It keeps all it works with in local variables: half of the speed is due to that.
 * @returns the offset behind the row, or -1 when anything else is there
 */
function readRow({ bytes, view, values, dimension }: Reading, from: number, offset: number): number {
  const lastWord = bytes.length - 4
  let at = skipSpace(bytes, from)
  if (bytes[at++] !== OPEN) return -1
  for (let index = 0; index < dimension; index++) {
    let byte = bytes[at] as number
    if (byte <= SPACE) {
      at = skipSpace(bytes, at)
      byte = bytes[at] as number
    }
    const start = at
    const isNegative = byte === MINUS
    if (isNegative) byte = bytes[++at] as number
    const first = at
    let digits = 0
    for (; byte >= ZERO && byte <= NINE; byte = bytes[++at] as number) digits = digits * 10 + (byte - ZERO)
    // A JSON number has digits first, and no leading zeros.
    if (at === first || (bytes[first] === ZERO && at - first > 1)) return -1
    let exponent = 0
    if (byte === DOT) {
      const fraction = ++at
      for (; at <= lastWord; at += 4) {
        const word = view.getInt32(at, true)
        if (!areDigits(word)) break
        digits = digits * 10_000 + fourDigits(word)
      }
      byte = bytes[at] as number
      for (; byte >= ZERO && byte <= NINE; byte = bytes[++at] as number) digits = digits * 10 + (byte - ZERO)
      exponent = fraction - at
      if (exponent === 0) return -1
    }
    if (at - start > LONGEST_NUMBER) return -1
    if (byte === 0x65 || byte === 0x45) {
      const given = readExponent(bytes, at + 1)
      if (given === undefined) return -1
      exponent += given.value
      at = given.end
    }
    const value = scaled(digits, exponent)
    values[offset + index] = isNegative ? -value : value
    if ((bytes[at] as number) <= SPACE) at = skipSpace(bytes, at)
    if (bytes[at++] !== (index === dimension - 1 ? CLOSE : COMMA)) return -1
  }
  return at
}

export interface FloatRows {
  /** All rows after one another. */
  readonly values: Float32Array<ArrayBuffer>
  readonly count: number
}

/** Room for as many rows as the rest of the text has if all are as long as the first, and some more. */
function roomFor(text: number, firstRow: number, most: number): number {
  return Math.min(most, Math.ceil((1.1 * text) / firstRow) + 1)
}

/**
 * Reads `[[1, 2.5], [3, 4]]` at an offset.
 * @param dimension numbers that each row must have
 * @param most rows at most
 * @returns undefined when anything else is there: whoever asks reads it by other means, to say what is wrong
 */
export function readFloatRows(
  bytes: Uint8Array,
  from: number,
  dimension: number,
  most: number,
): { rows: FloatRows; end: number } | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  let values = new Float32Array(dimension)
  let at = skipSpace(bytes, from)
  if (bytes[at++] !== OPEN) return undefined
  const start = at
  for (let count = 0; count < most; ) {
    if ((count + 1) * dimension > values.length) {
      const room = roomFor(bytes.length - start, (at - start) / count, most)
      const grown = new Float32Array(Math.max(room, count + 1) * dimension)
      grown.set(values)
      values = grown
    }
    at = readRow({ bytes, view, values, dimension }, at, count * dimension)
    if (at < 0) return undefined
    count++
    at = skipSpace(bytes, at)
    const byte = bytes[at++]
    if (byte === CLOSE) return { rows: { values: values.subarray(0, count * dimension), count }, end: at }
    if (byte !== COMMA) return undefined
  }
  return undefined
}
