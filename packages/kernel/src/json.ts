import secureJson from 'secure-json-parse'
import { AppError, invalidInput } from './errors.ts'

/**
 * Whether a value nests deeper than `levels`. Looks no deeper than that, so it never runs out of stack; parsing itself
 * does not recurse.
 */
function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  if (Array.isArray(value)) {
    for (const item of value) {
      if (typeof item === 'object' && isDeeperThan(item, levels - 1)) return true
    }
    return false
  }
  for (const key in value) {
    if (isDeeperThan((value as Record<string, unknown>)[key], levels - 1)) return true
  }
  return false
}

/** Whether a body has a key that sets a prototype, or escapes that could hide one: a look that costs next to nothing. */
const maySetPrototypes = (body: Buffer): boolean =>
  body.includes('__proto__') || body.includes('constructor') || body.includes('\\u')

/** Deepest nesting of a body. */
export const JSON_DEPTH = 64

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
 * @param limits.depth deepest nesting allowed (JSON_DEPTH)
 * @throws AppError 400 when it is not JSON, nests too deep, or holds a NUL character
 */
export function parseJson(body: Buffer, limits: { depth?: number } = {}): unknown {
  const limit = limits.depth ?? JSON_DEPTH
  let value: unknown
  try {
    const text = body.toString('utf8')
    value = maySetPrototypes(body)
      ? secureJson.parse(text, null, { protoAction: 'remove', constructorAction: 'remove' })
      : JSON.parse(text)
  } catch (cause) {
    throw new AppError(400, 'invalid_json', `The body is not valid JSON: ${(cause as Error).message}`, {
      field: 'body',
    })
  }
  // Every level takes at least one byte, so short bodies need no look.
  if (body.length > limit && isDeeperThan(value, limit)) {
    throw new AppError(400, 'json_too_deep', `The body nests deeper than ${limit} levels`, { field: 'body' })
  }
  if (body.includes('\\u0000')) {
    const at = findNul(value, 'body')
    if (at !== undefined) throw invalidInput(at, 'must not contain the NUL character (U+0000)')
  }
  return value
}
