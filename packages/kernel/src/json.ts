import { isUtf8 } from 'node:buffer'
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

/**
 * Whether a body has a key that sets a prototype, or escapes, which could hide one and are the only way to write NUL and
 * halves of pairs: a look that costs next to nothing.
 */
const isSuspicious = (body: Buffer): boolean =>
  body.includes('__proto__') || body.includes('constructor') || body.includes('\\u')

/** Deepest nesting of a body. */
export const JSON_DEPTH = 64

/** How a body is read. */
export interface JsonRules {
  /** Deepest nesting allowed (JSON_DEPTH). */
  readonly depth?: number
  /** Keeps halves of surrogate pairs, and drops keys that set prototypes anywhere; both are refused otherwise. */
  readonly isLenient?: boolean
  /** It is a part of a body, so that its top is not the body's. */
  readonly isPart?: boolean
}

const NUL = 'must not contain the NUL character (U+0000)'
const HALF = 'must not contain half of a surrogate pair (U+D800 to U+DFFF), which is no character'
const PROTOTYPE = 'is a name that is kept for prototypes'

/** Why a text cannot be stored, undefined when it can: PostgreSQL's text holds no U+0000, and UTF-8 no half pairs. */
function faultOfText(text: string, isLenient: boolean): string | undefined {
  if (text.includes('\0')) return NUL
  return isLenient || text.isWellFormed() ? undefined : HALF
}

const setsPrototype = (key: string, value: unknown): boolean =>
  key === '__proto__' ||
  (key === 'constructor' && typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype'))

/** Where the first text or key stands that is refused, and why. */
function findFault(value: unknown, path: string, isLenient: boolean): readonly [string, string] | undefined {
  if (typeof value === 'string') {
    const reason = faultOfText(value, isLenient)
    return reason === undefined ? undefined : [path, reason]
  }
  if (typeof value !== 'object' || value === null) return undefined
  const isList = Array.isArray(value)
  for (const [key, item] of Object.entries(value)) {
    const reason = isList ? undefined : faultOfText(key, isLenient)
    if (reason !== undefined) return [`${path}: a key`, reason]
    const at = isList ? `${path}[${key}]` : `${path}.${key}`
    if (!isLenient && !isList && setsPrototype(key, item)) return [at, PROTOTYPE]
    const found = findFault(item, at, isLenient)
    if (found !== undefined) return found
  }
  return undefined
}

/** At the top of a body such a key is a field that nobody knows, and is ignored as all of them. */
function dropPrototypes(body: unknown): void {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return
  for (const [key, item] of Object.entries(body)) {
    if (setsPrototype(key, item)) Reflect.deleteProperty(body, key)
  }
}

function parseText(body: Buffer, isLenient: boolean): unknown {
  if (!isUtf8(body)) throw invalidJson('it is no UTF-8')
  const text = body.toString('utf8')
  try {
    return isLenient && isSuspicious(body)
      ? secureJson.parse(text, null, { protoAction: 'remove', constructorAction: 'remove' })
      : JSON.parse(text)
  } catch (cause) {
    throw invalidJson((cause as Error).message)
  }
}

/** 400 */
export const invalidJson = (reason: string): AppError =>
  new AppError(400, 'invalid_json', `The body is not valid JSON: ${reason}`, { field: 'body' })

/**
 * Parses a request body.
 * @throws AppError 400 when it is not JSON, nests too deep, or holds a NUL character, half of a surrogate pair, or a key
 *   below its top that sets a prototype: `__proto__`, and `constructor` of something with a `prototype`
 */
export function parseJson(
  body: Buffer,
  { depth = JSON_DEPTH, isLenient = false, isPart = false }: JsonRules = {},
): unknown {
  const value = parseText(body, isLenient)
  // Every level takes at least one byte, so short bodies need no look.
  if (body.length > depth && isDeeperThan(value, depth)) {
    throw new AppError(400, 'json_too_deep', `The body nests deeper than ${depth} levels`, { field: 'body' })
  }
  if (isLenient ? body.includes('\\u0000') : isSuspicious(body)) {
    if (!isPart) dropPrototypes(value)
    const fault = findFault(value, 'body', isLenient)
    if (fault !== undefined) throw invalidInput(...fault)
  }
  return value
}
