import { readFileSync } from 'node:fs'

/**
 * Rows of numbers straight from JSON text into 32-bit floats. `JSON.parse` makes text, then doubles, then arrays of
 * them, all of which are garbage a moment later: that costs more than storing the vectors does.
 *
 * A row is read by WebAssembly, out of a window of the text that is copied into its memory: its 64-bit integers hold
 * eight digits, which takes half of the time of the same in JavaScript.
 */

const OPEN = 0x5b
const CLOSE = 0x5d
const COMMA = 0x2c
const SPACE = 0x20

/** Node.js has it; its types do not. */
declare const WebAssembly: {
  readonly Module: new (binary: Uint8Array) => object
  readonly Instance: new (module: object) => { readonly exports: unknown }
}

/** What `assembly/float-row.ts` is compiled to. */
interface RowReader {
  readonly memory: { readonly buffer: ArrayBuffer }
  /** Offset of memory that is nobody else's. */
  readonly free: { readonly value: number }
  /** @returns the offset behind the row; 0 when anything else than a row is there */
  readRow(from: number, into: number, dimension: number): number
}

const wasm = new WebAssembly.Module(readFileSync(new URL('./float-row.wasm', import.meta.url)))
const reader = new WebAssembly.Instance(wasm).exports as RowReader

const KIB = 1024
/** Bytes of text that WebAssembly sees at a time: what is copied should still be in the core's cache. */
const WINDOW = 256 * KIB
/** More than the reader looks ahead. */
const PADDING = 16
const TEXT = reader.free.value
const ROW = TEXT + WINDOW + KIB
const memory = new Uint8Array(reader.memory.buffer)
/** Numbers of a row that fit. */
const LONGEST_ROW = (memory.length - ROW) / 4

/** The part of a text that WebAssembly sees. Zeros follow it, which end no number, so nothing is taken for whole. */
class Window {
  readonly #bytes: Buffer
  #start = -1

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  #moveTo(at: number): void {
    // Not `memory.set`: that is five times as slow where the text is in memory that threads share.
    const copied = this.#bytes.copy(memory, TEXT, at, at + WINDOW)
    memory.fill(0, TEXT + copied, TEXT + copied + PADDING)
    this.#start = at
  }

  /** @returns the offset behind the row, or -1 when anything else is there, or a row longer than the window */
  readRow(at: number, dimension: number): number {
    const isInside = this.#start >= 0 && at - this.#start < WINDOW
    let end = isInside ? reader.readRow(TEXT + at - this.#start, ROW, dimension) : 0
    if (end === 0 && at !== this.#start) {
      this.#moveTo(at)
      end = reader.readRow(TEXT, ROW, dimension)
    }
    return end === 0 ? -1 : end - TEXT + this.#start
  }
}

function skipSpace(bytes: Uint8Array, from: number): number {
  let at = from
  let byte = bytes[at] as number
  while (byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[++at] as number
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
 * Reads `[[1, 2.5], [3, 4]]` at an offset, each number at most two units in a double's last place off.
 * @param dimension numbers that each row must have
 * @param most rows at most
 * @returns undefined when anything else is there: whoever asks reads it by other means, to say what is wrong
 */
export function readFloatRows(
  bytes: Buffer,
  from: number,
  dimension: number,
  most: number,
): { rows: FloatRows; end: number } | undefined {
  if (dimension > LONGEST_ROW) return undefined
  const row = new Float32Array(memory.buffer, ROW, dimension)
  const window = new Window(bytes)
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
    at = window.readRow(at, dimension)
    if (at < 0) return undefined
    values.set(row, count * dimension)
    count++
    at = skipSpace(bytes, at)
    const byte = bytes[at++]
    if (byte === CLOSE) return { rows: { values: values.subarray(0, count * dimension), count }, end: at }
    if (byte !== COMMA) return undefined
  }
  return undefined
}
