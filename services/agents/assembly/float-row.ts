// AssemblyScript, which `npm run wasm -w @atrium/agents` compiles to src/domain/embeddings/float-row.wasm.

const OPEN: u32 = 0x5b
const CLOSE: u32 = 0x5d
const COMMA: u32 = 0x2c
const MINUS: u32 = 0x2d
const PLUS: u32 = 0x2b
const DOT: u32 = 0x2e
const ZERO: u32 = 0x30
const SPACE: u32 = 0x20
/** Whole numbers and fractions are this long together at most, so that the sum of their digits cannot overflow. */
const LONGEST_NUMBER: usize = 300

/** Powers of ten that a double holds exactly. */
const POWERS = memory.data<f64>([
  1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
  1e21, 1e22,
])

/** Offset of memory that is the caller's. */
export const free: usize = __heap_base

function power(exponent: i32): f64 {
  return load<f64>(POWERS + ((<usize>exponent) << 3))
}

function isDigit(byte: u32): bool {
  return byte - ZERO <= 9
}

/** Bytes from 0x30 to 0x39 have a high half of 3, also with 6 added to each; the others leave bits here. */
function nonDigits(word: u64): u64 {
  const high: u64 = 0xf0f0f0f0f0f0f0f0
  const three: u64 = 0x3030303030303030
  return ((word & high) ^ three) | (((word + 0x0606060606060606) & high) ^ three)
}

/** The value of eight digits, the first in the lowest byte. A byte of 0 is as good as the digit. */
function eightDigits(word: u64): f64 {
  const digits = word & 0x0f0f0f0f0f0f0f0f
  const pairs = (digits * 10 + (digits >> 8)) & 0x00ff00ff00ff00ff
  const fours = (pairs * 100 + (pairs >> 16)) & 0x0000ffff0000ffff
  return <f64>((fours * 10000 + (fours >> 32)) & 0xffffffff)
}

function skipSpace(from: usize): usize {
  let at = from
  let byte: u32 = load<u8>(at)
  while (byte == SPACE || byte == 0x0a || byte == 0x0d || byte == 0x09) byte = load<u8>(++at)
  return at
}

/** `digits × 10^exponent` for exponents beyond the table. */
function scaled(digits: f64, exponent: i32): f64 {
  let value = digits
  let left = exponent
  for (; left < -22 && value != 0; left += 22) value /= 1e22
  for (; left > 22 && value != 0 && value != Infinity; left -= 22) value *= 1e22
  if (left < -22 || left > 22) return value
  return left < 0 ? value / power(-left) : value * power(left)
}

/**
 * Reads a row of exactly so many JSON numbers, each at most two units in a double's last place off.
 *
 * All in one function: what it works with stays in registers. The first byte behind the text must be 0.
 * @param from offset of the text
 * @param into offset for the 32-bit floats
 * @returns the offset behind the row, or 0 when anything else is there
 */
export function readRow(from: usize, into: usize, dimension: i32): usize {
  let at = skipSpace(from)
  if (<u32>load<u8>(at++) != OPEN) return 0
  const last = into + ((<usize>dimension - 1) << 2)
  for (let to = into; to <= last; to += 4) {
    let byte: u32 = load<u8>(at)
    if (byte <= SPACE) {
      at = skipSpace(at)
      byte = load<u8>(at)
    }
    const isNegative = byte == MINUS
    at += <usize>(isNegative ? 1 : 0)
    const first = at
    byte = load<u8>(at)
    if (!isDigit(byte)) return 0
    let digits = <f64>(byte - ZERO)
    byte = load<u8>(++at)
    if (isDigit(byte)) {
      // No leading zeros.
      if (digits == 0) return 0
      for (; isDigit(byte); byte = load<u8>(++at)) digits = digits * 10 + <f64>(byte - ZERO)
    }
    let exponent: i32 = 0
    if (byte == DOT) {
      const fraction = ++at
      let word = load<u64>(at)
      let others = nonDigits(word)
      while (others == 0) {
        digits = digits * 1e8 + eightDigits(word)
        at += 8
        word = load<u64>(at)
        others = nonDigits(word)
      }
      const count = <usize>(ctz(others) >> 3)
      if (count > 0) {
        digits = digits * power(<i32>count) + eightDigits(word << ((8 - count) << 3))
        at += count
      }
      exponent = <i32>(fraction - at)
      if (exponent == 0) return 0
      byte = load<u8>(at)
    }
    if (at - first > LONGEST_NUMBER) return 0
    if (byte == 0x65 || byte == 0x45) {
      byte = load<u8>(++at)
      const isBelow = byte == MINUS
      if (isBelow || byte == PLUS) byte = load<u8>(++at)
      if (!isDigit(byte)) return 0
      let given: i32 = 0
      for (; isDigit(byte); byte = load<u8>(++at)) given = min(10000, given * 10 + <i32>(byte - ZERO))
      exponent += isBelow ? -given : given
    }
    const isUsual = exponent <= 0 && exponent >= -22
    const value = isUsual ? digits / power(-exponent) : scaled(digits, exponent)
    store<f32>(to, <f32>(isNegative ? -value : value))
    if (byte <= SPACE) {
      at = skipSpace(at)
      byte = load<u8>(at)
    }
    if (byte != (to == last ? CLOSE : COMMA)) return 0
    at++
  }
  return at
}
