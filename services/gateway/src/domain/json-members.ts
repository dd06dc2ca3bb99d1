const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const COMMA = 0x2c
const OPEN_OBJECT = 0x7b
const OPEN_ARRAY = 0x5b
const CLOSE_OBJECT = 0x7d
const CLOSE_ARRAY = 0x5d

/** A name that means what it says: no escape, and no character of several bytes. */
const PLAIN_NAME = /^[^\\\x80-\xff]*$/

/** Longer strings are skipped by a native search. */
const SHORT_STRING = 48
/** Bytes that are walked before others have a turn. */
const PIECE_BYTES = 131_072

/** A member of a JSON object: its name, where it begins, and where its value begins and ends. */
export interface JsonMember {
  readonly name: string
  readonly start: number
  readonly valueStart: number
  readonly end: number
}

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

function skipSpace(json: Buffer, start: number): number {
  let i = start
  while (isSpace(json[i])) i++
  return i
}

/** Index after the closing quote of the string that starts at `start`; the length of `json` when it has none. */
function endOfString(json: Buffer, start: number): number {
  const { length } = json
  for (let i = start + 1; ; ) {
    for (const stop = Math.min(length, i + SHORT_STRING); i < stop; i++) {
      if (json[i] === BACKSLASH) i++
      else if (json[i] === QUOTE) return i + 1
    }
    const quote = i < length ? json.indexOf(QUOTE, i) : -1
    if (quote === -1) return length
    let slashes = 0
    while (quote - slashes > i && json[quote - slashes - 1] === BACKSLASH) slashes++
    if (slashes % 2 === 0) return quote + 1
    i = quote + 1
  }
}

function nameOf(json: Buffer, start: number, end: number): string {
  const name = json.toString('latin1', start + 1, end - 1)
  if (PLAIN_NAME.test(name)) return name
  try {
    return JSON.parse(json.toString('utf8', start, end)) as string
  } catch {
    return name
  }
}

/**
 * The members of the object that `json` holds, in the order of the text, those of objects within it left out.
 * `undefined` comes between them where a part that is long has been walked, so that others can have a turn.
 * @param json valid JSON; of what is not, the members up to the fault come
 */
export function* jsonMembers(json: Buffer): Generator<JsonMember | undefined, void, void> {
  let i = skipSpace(json, 0)
  if (json[i] !== OPEN_OBJECT) return
  for (i = skipSpace(json, i + 1); json[i] === QUOTE; i = skipSpace(json, i + 1)) {
    const start = i
    i = endOfString(json, start)
    const name = nameOf(json, start, i)
    i = skipSpace(json, i)
    if (json[i] !== COLON) return
    const valueStart = skipSpace(json, i + 1)
    let depth = 0
    let piece = valueStart + PIECE_BYTES
    for (i = valueStart; i < json.length; ) {
      const byte = json[i]
      if (byte === QUOTE) i = endOfString(json, i)
      else if (depth === 0 && (byte === COMMA || byte === CLOSE_OBJECT)) break
      else {
        if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++
        else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--
        i++
      }
      if (i > piece) {
        yield undefined
        piece = i + PIECE_BYTES
      }
    }
    let end = i
    while (isSpace(json[end - 1])) end--
    yield { name, start, valueStart, end }
    if (json[i] !== COMMA) return
  }
}

/**
 * The same JSON text with other values of the members that `values` names, as JSON text; those that it lacks are put
 * first. Every other byte stays as it was. A key that is given twice is replaced twice, since parsers differ in which
 * one counts.
 * @param json valid JSON, an object that is not empty
 */
export function replaceMembers(json: Buffer, values: ReadonlyMap<string, string>): Buffer {
  const parts: Buffer[] = []
  const missing = new Map(values)
  let copied = 0
  for (const member of jsonMembers(json)) {
    const value = member && values.get(member.name)
    if (member === undefined || value === undefined) continue
    missing.delete(member.name)
    parts.push(json.subarray(copied, member.valueStart), Buffer.from(value))
    copied = member.end
  }
  parts.push(json.subarray(copied))
  return prependMembers(Buffer.concat(parts), missing)
}

/** The same JSON text with more members, which it does not have yet, before the others. */
export function prependMembers(json: Buffer, members: ReadonlyMap<string, string>): Buffer {
  if (members.size === 0) return json
  const open = json.indexOf(OPEN_OBJECT) + 1
  const text = [...members].map(([name, value]) => `${JSON.stringify(name)}:${value},`).join('')
  return Buffer.concat([json.subarray(0, open), Buffer.from(text), json.subarray(open)])
}
