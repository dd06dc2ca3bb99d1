import secureJson from 'secure-json-parse'
import { AppError, invalidInput } from '../errors.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c

/** Deepest nesting of objects and arrays in JSON text; stops counting once `limit` is passed. */
function depthOf(text: Buffer, limit: number): number {
  let depth = 0
  let deepest = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const byte = text[i]
    if (inString) {
      if (byte === BACKSLASH) i++
      else if (byte === QUOTE) inString = false
    } else if (byte === QUOTE) inString = true
    else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > deepest) deepest = depth
      if (deepest > limit) return deepest
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return deepest
}

/** Path of the first string (or key) that holds U+0000, which PostgreSQL's text cannot store. */
function findNul(value: unknown, path: string): string | undefined {
  if (typeof value === 'string') return value.includes('\0') ? path : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, item] of Object.entries(value)) {
    const at = Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`
    if (key.includes('\0')) return `${path}: a key`
    const found = findNul(item, at)
    if (found !== undefined) return found
  }
  return undefined
}

/**
 * Parses a request body. `__proto__` and `constructor.prototype` keys are dropped.
 * @param limits.depth deepest nesting allowed (64)
 * @throws AppError 400 when it is not JSON, nests too deep, or holds a NUL character
 */
export function parseJson(body: Buffer, limits: { depth?: number } = {}): unknown {
  const limit = limits.depth ?? 64
  // Every level takes at least one byte, so short bodies need no scan.
  if (body.length > limit && depthOf(body, limit) > limit) {
    throw new AppError(400, 'json_too_deep', `The body nests deeper than ${limit} levels`, { field: 'body' })
  }
  let value: unknown
  try {
    value = secureJson.parse(body.toString('utf8'), null, {
      protoAction: 'remove',
      constructorAction: 'remove',
    })
  } catch (cause) {
    throw new AppError(400, 'invalid_json', `The body is not valid JSON: ${(cause as Error).message}`, {
      field: 'body',
    })
  }
  if (body.includes('\\u0000')) {
    const at = findNul(value, 'body')
    if (at !== undefined) throw invalidInput(at, 'must not contain the NUL character (U+0000)')
  }
  return value
}
