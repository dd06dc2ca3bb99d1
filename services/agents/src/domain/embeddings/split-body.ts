import { type FloatRows, readFloatRows } from './float-rows.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const KEY = Buffer.from('"embeddings"')
const NULL = Buffer.from('null')

/** A body's vectors, and the same body with `null` in their place. */
export interface SplitBody {
  readonly vectors: FloatRows
  readonly rest: Buffer
}

/** Offset of the quote that ends the string which begins at an offset. */
function endOfString(bytes: Buffer, start: number): number {
  let at = start + 1
  for (;;) {
    at = bytes.indexOf(QUOTE, at)
    if (at < 0) return bytes.length
    let slashes = 0
    while (bytes[at - 1 - slashes] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return at
    at++
  }
}

/** Offset behind the colon of the outermost object's key `embeddings`; -1 when there is none. */
function findVectors(bytes: Buffer, from: number): number {
  let depth = 0
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) {
      const end = endOfString(bytes, at)
      if (
        depth === 1 &&
        end - at === KEY.length - 1 &&
        bytes.compare(KEY, 0, KEY.length, at, end + 1) === 0
      ) {
        let colon = end + 1
        while ((bytes[colon] as number) <= 0x20) colon++
        if (bytes[colon] === COLON) return colon + 1
      }
      at = end
    } else if (byte === 0x7b || byte === 0x5b) depth++
    else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return -1
}

/**
 * Takes the vectors out of a body before it is parsed as JSON.
 * @returns undefined when there is anything unusual about them: then the whole body is to be parsed, which says what
 */
export function splitBody(bytes: Buffer, dimension: number, most: number): SplitBody | undefined {
  const start = findVectors(bytes, 0)
  if (start < 0) return undefined
  const read = readFloatRows(bytes, start, dimension, most)
  if (read === undefined) return undefined
  const rest = Buffer.concat([bytes.subarray(0, start), NULL, bytes.subarray(read.end)])
  return { vectors: read.rows, rest }
}
