import { AppError, invalidInput } from './errors.ts'
import { invalidJson as invalid, JSON_DEPTH, type JsonRules, parseJson } from './json.ts'

/** Parsed at once in well under a millisecond. */
const PIECE_BYTES = 131_072
/** Lists and objects are cut up so deep; what lies deeper is parsed whole. */
const LEVELS = 3

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const OPEN_ARRAY = 0x5b
const CLOSE_OBJECT = 0x7d
const CLOSE_ARRAY = 0x5d

const CLOSING: ReadonlyMap<number | undefined, number> = new Map([
  [OPEN_OBJECT, CLOSE_OBJECT],
  [OPEN_ARRAY, CLOSE_ARRAY],
])

/** Bytes of the body, without the white space around. */
interface Span {
  readonly start: number
  readonly end: number
}

type Pause = () => Promise<unknown> | undefined

const isSpace = (byte: number | undefined): boolean =>
  byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09

function trimmed(body: Buffer, { start, end }: Span): Span {
  let [from, to] = [start, end]
  while (from < to && isSpace(body[from])) from++
  while (to > from && isSpace(body[to - 1])) to--
  return { start: from, end: to }
}

/**
 * Parses a body of many megabytes as `parseJson` does, with a pause after each piece of it. One text in it that is as
 * long is a piece.
 * @param pause undefined: go on at once
 * @throws AppError 400 as `parseJson`
 */
export const parseJsonInPieces = (
  body: Buffer,
  pause: Pause,
  { isLenient = false }: Pick<JsonRules, 'isLenient'> = {},
): Promise<unknown> =>
  parseValue({ body, pause, isLenient }, trimmed(body, { start: 0, end: body.length }), 0)

interface Source {
  readonly body: Buffer
  readonly pause: Pause
  readonly isLenient: boolean
}

type Container = unknown[] | Record<string, unknown>

async function parseValue(source: Source, span: Span, level: number): Promise<unknown> {
  const { body } = source
  const closing = CLOSING.get(body[span.start])
  if (closing === undefined || span.end - span.start <= PIECE_BYTES || level === LEVELS) {
    await source.pause()
    return parsePiece(source, body.subarray(span.start, span.end), level)
  }
  if (body[span.end - 1] !== closing) throw invalid('a list or an object is not closed')
  const value: Container = closing === CLOSE_ARRAY ? [] : {}
  let groups = 0
  for await (const { members, isOne } of groupsOf(source, span)) {
    groups += 1
    if (members.start === members.end && groups > 1) throw invalid('a value is missing')
    if (isOne) await addMember(source, value, members, level)
    else addGroup(source, value, members, level)
    await source.pause()
  }
  return value
}

function addGroup(source: Source, value: Container, { start, end }: Span, level: number): void {
  const isArray = Array.isArray(value)
  const piece = Buffer.concat([
    isArray ? ARRAY.open : OBJECT.open,
    source.body.subarray(start, end),
    isArray ? ARRAY.close : OBJECT.close,
  ])
  const members = parsePiece(source, piece, level)
  if (isArray) for (const member of members as unknown[]) value.push(member)
  else Object.assign(value, members)
}

/** Of an object, with its key. */
async function addMember(source: Source, value: Container, span: Span, level: number): Promise<void> {
  if (Array.isArray(value)) {
    value.push(await parseValue(source, span, level + 1))
    return
  }
  const { body } = source
  const colon = endOfKey(body, span)
  // With a small value in the place of the large one, for the key may be one that is dropped.
  const key = Buffer.concat([OBJECT.open, body.subarray(span.start, colon), Buffer.from(':0'), OBJECT.close])
  const [name] = Object.keys(parsePiece(source, key, level) as object)
  const member = await parseValue(source, trimmed(body, { start: colon + 1, end: span.end }), level + 1)
  if (name === undefined) return
  const isPrototype =
    name === 'constructor' &&
    typeof member === 'object' &&
    member !== null &&
    Object.hasOwn(member, 'prototype')
  if (isPrototype && !source.isLenient && level > 0) throw invalidInput('body', 'must not set a prototype')
  if (!isPrototype) value[name] = member
}

/** Where the colon after a key stands. @throws AppError 400 */
function endOfKey(body: Buffer, { start, end }: Span): number {
  if (body[start] !== QUOTE) throw invalid('a key is no text')
  for (let i = start + 1; i < Math.min(end, start + PIECE_BYTES); i++) {
    if (body[i] === BACKSLASH) i++
    else if (body[i] === QUOTE) {
      let at = i + 1
      while (isSpace(body[at])) at++
      if (body[at] === COLON) return at
      break
    }
  }
  throw invalid('a key is too long, or no colon comes after it')
}

const ARRAY = { open: Buffer.from('['), close: Buffer.from(']') }
const OBJECT = { open: Buffer.from('{'), close: Buffer.from('}') }

function parsePiece({ isLenient }: Source, piece: Buffer, level: number): unknown {
  try {
    return parseJson(piece, { depth: JSON_DEPTH - level, isLenient, isPart: level > 0 })
  } catch (error) {
    // The path would be that in the piece.
    if (error instanceof AppError && error.code === 'invalid_input') {
      throw invalidInput('body', error.message.slice(`${error.field} `.length))
    }
    throw error
  }
}

/** Members of a list or an object that are parsed together; a large one stands alone. */
interface Group {
  readonly members: Span
  readonly isOne: boolean
}

/** Cuts a list or an object at its commas. */
async function* groupsOf({ body, pause }: Source, { start, end }: Span): AsyncGenerator<Group> {
  const last = end - 1
  let depth = 0
  let isText = false
  let group = start + 1
  let member = start + 1
  let rest = start + PIECE_BYTES
  for (let i = start + 1; i <= last; i++) {
    const byte = i === last ? COMMA : body[i]
    if (depth < 0 || (i === last && (isText || depth > 0))) throw invalid('its brackets do not fit')
    if (isText) {
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) isText = false
    } else if (byte === QUOTE) isText = true
    else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--
    else if (byte === COMMA && depth === 0) {
      const isLarge = i - member > PIECE_BYTES
      const groupEnd = isLarge ? member - 1 : i
      if (groupEnd > group || !isLarge) {
        if (isLarge || i === last || groupEnd - group > PIECE_BYTES) {
          yield { members: trimmed(body, { start: group, end: groupEnd }), isOne: false }
          group = i + 1
        }
      }
      if (isLarge) {
        yield { members: trimmed(body, { start: member, end: i }), isOne: true }
        group = i + 1
      }
      member = i + 1
    }
    if (i >= rest) {
      rest = i + PIECE_BYTES
      await pause()
    }
  }
}
