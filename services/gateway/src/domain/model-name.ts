const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const OPEN_ARRAY = 0x5b
const CLOSE_OBJECT = 0x7d
const CLOSE_ARRAY = 0x5d
const COMMA = 0x2c

/** Index after the closing quote of the string that starts at `start`. */
function endOfString(json: Buffer, start: number): number {
  for (let i = start + 1; ; i++) {
    if (json[i] === BACKSLASH) i++
    else if (json[i] === QUOTE) return i + 1
  }
}

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

function skipSpace(json: Buffer, start: number): number {
  let i = start
  while (isSpace(json[i])) i++
  return i
}

/** Where the values of the top-level key `name` stand, as [start, end) pairs. `json` is valid JSON. */
function valuesOf(json: Buffer, name: string): [number, number][] {
  const found: [number, number][] = []
  let depth = 0
  let expectsKey = false
  for (let i = 0; i < json.length; ) {
    const byte = json[i]
    if (byte === QUOTE) {
      const end = endOfString(json, i)
      if (depth === 1 && expectsKey) {
        expectsKey = false
        const isWanted = JSON.parse(json.toString('utf8', i, end)) === name
        i = skipSpace(json, end)
        if (json[i] === COLON) i = skipSpace(json, i + 1)
        if (isWanted && json[i] === QUOTE) {
          const valueEnd = endOfString(json, i)
          found.push([i, valueEnd])
          i = valueEnd
        }
        continue
      }
      i = end
      continue
    }
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth++
      expectsKey = depth === 1 && byte === OPEN_OBJECT
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--
    else if (byte === COMMA && depth === 1) expectsKey = true
    i++
  }
  return found
}

/**
 * The same JSON text with another top-level `model`; every other byte stays as it was. A key that is
 * given twice is replaced twice, since parsers differ in which one counts.
 * @param json valid JSON, an object
 */
export function replaceModel(json: Buffer, model: string): Buffer {
  const value = Buffer.from(JSON.stringify(model))
  const parts: Buffer[] = []
  let copied = 0
  for (const [start, end] of valuesOf(json, 'model')) {
    parts.push(json.subarray(copied, start), value)
    copied = end
  }
  parts.push(json.subarray(copied))
  return Buffer.concat(parts)
}
