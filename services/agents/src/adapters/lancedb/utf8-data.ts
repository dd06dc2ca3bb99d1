import { type Data, Field, makeData, Utf8 } from 'apache-arrow'

/**
 * Strings are kept as they are: compressing them takes as long as all the rest of writing a batch, reading them gets no
 * faster by it, and vectors are most of a row anyway. See ADR 10.
 */
const UNCOMPRESSED = new Map([['lance-encoding:compression', 'none']])

/** A field of strings in a store's table. */
export const utf8Field = (name: string, nullable: boolean): Field<Utf8> =>
  new Field(name, new Utf8(), nullable, UNCOMPRESSED)

/** A column of strings; Arrow's own builder takes five times as long. Lone surrogates become U+FFFD. */
export function utf8Data(texts: readonly (string | null)[]): Data<Utf8> {
  const valueOffsets = new Int32Array(texts.length + 1)
  let end = 0
  let nullCount = 0
  for (let row = 0; row < texts.length; row++) {
    const text = texts[row]
    if (text === null) nullCount += 1
    end += text?.length ?? 0
    valueOffsets[row + 1] = end
  }
  const joined = texts.join('')
  const isAscii = Buffer.byteLength(joined) === end
  const data = isAscii ? Buffer.from(joined, 'latin1') : encoded(texts, valueOffsets)
  return makeData({
    type: new Utf8(),
    length: texts.length,
    nullCount,
    ...(nullCount === 0 ? {} : { nullBitmap: bitmapOf(texts) }),
    valueOffsets,
    data,
  })
}

/** A bit a row, set where there is a text. */
function bitmapOf(texts: readonly (string | null)[]): Uint8Array {
  const bitmap = new Uint8Array((texts.length + 7) >> 3)
  for (const [row, text] of texts.entries()) {
    if (text !== null) bitmap[row >> 3] = (bitmap[row >> 3] ?? 0) | (1 << (row & 7))
  }
  return bitmap
}

/** Encodes text by text and corrects the offsets to bytes. */
function encoded(texts: readonly (string | null)[], valueOffsets: Int32Array): Uint8Array {
  // A UTF-16 unit has three bytes of UTF-8 at most.
  const bytes = Buffer.allocUnsafe(3 * (valueOffsets.at(-1) ?? 0))
  let end = 0
  for (const [row, text] of texts.entries()) {
    if (text !== null) end += bytes.write(text, end)
    valueOffsets[row + 1] = end
  }
  return bytes.subarray(0, end)
}
