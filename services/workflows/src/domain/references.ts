import { REFERENCE_NAME } from '../contract/configurations.ts'

/**
 * References in the arguments of tasks: `${config.KEY}` and `${secret.NAME}`. `$${` stands for `${` itself; every other
 * `${` is a fault, so that a misspelt reference is found before a run. What a reference gives is never read for
 * references again.
 */

export interface Reference {
  readonly kind: 'config' | 'secret'
  readonly name: string
}

type Part = string | Reference

export interface ParsedText {
  /** Plain text, without escapes, and references, in their order. */
  readonly parts: readonly Part[]
  /** What is malformed, in words; empty for good text. */
  readonly faults: readonly string[]
}

const REFERENCE = new RegExp(`\\$\\{(config|secret)\\.(${REFERENCE_NAME})\\}`, 'y')
const ESCAPE = '$${'
const LONGEST_SHOWN = 40
const MOST_FAULTS = 10

const shown = (text: string, at: number): string => {
  const end = text.indexOf('}', at)
  const piece = text.slice(at, Math.min(end === -1 ? text.length : end + 1, at + LONGEST_SHOWN))
  return JSON.stringify(piece)
}

/** Reads text in one pass. */
export function parseReferences(text: string): ParsedText {
  const parts: Part[] = []
  const faults: string[] = []
  let plain = ''
  let at = 0
  while (at < text.length) {
    const next = text.indexOf('$', at)
    if (next === -1) break
    plain += text.slice(at, next)
    at = next
    if (text.startsWith(ESCAPE, at)) {
      plain += '${'
      at += ESCAPE.length
      continue
    }
    if (!text.startsWith('${', at)) {
      plain += '$'
      at += 1
      continue
    }
    REFERENCE.lastIndex = at
    const found = REFERENCE.exec(text)
    if (found === null) {
      if (faults.length < MOST_FAULTS) faults.push(`${shown(text, at)} is no reference`)
      plain += '${'
      at += 2
      continue
    }
    if (plain !== '') parts.push(plain)
    plain = ''
    parts.push({ kind: found[1] as Reference['kind'], name: found[2] as string })
    at += found[0].length
  }
  plain += text.slice(at)
  if (plain !== '') parts.push(plain)
  return { parts, faults }
}

/** The references of text, in their order; of malformed text those that are well-formed. */
export const referencesIn = (text: string): Reference[] =>
  text.includes('${') ? parseReferences(text).parts.filter((part) => typeof part !== 'string') : []

// A function, for $$ stands for one $ in a replacement.
const escaped = (text: string): string => text.replaceAll('${', () => ESCAPE)

/** How a value enters text: as it is, or as a part of a JSON string. */
type Encoding = (value: string) => string

const asItIs: Encoding = (value) => value
const inJson: Encoding = (value) => JSON.stringify(value).slice(1, -1)

/**
 * A value that is one reference alone is replaced by the whole of what that gives, JSON or not; within more of JSON,
 * references stand in strings.
 */
const encodingOf = (parts: readonly Part[], isJson: boolean): Encoding =>
  isJson && parts.length > 1 ? inJson : asItIs

export interface Filled {
  readonly text: string
  /** Names that nothing was given for. */
  readonly missing: readonly string[]
}

/**
 * Fills in `${config.KEY}`. The text is still one with references: those to secrets stand in it, and what the
 * configuration gave is escaped.
 */
export function fillConfiguration(
  text: string,
  configuration: Readonly<Record<string, string>>,
  isJson = false,
): Filled {
  if (!text.includes('${')) return { text, missing: [] }
  const { parts } = parseReferences(text)
  const encode = encodingOf(parts, isJson)
  const missing: string[] = []
  const filled = parts.map((part) => {
    if (typeof part === 'string') return escaped(part)
    if (part.kind === 'secret') return `\${secret.${part.name}}`
    if (Object.hasOwn(configuration, part.name)) return escaped(encode(configuration[part.name] ?? ''))
    missing.push(part.name)
    return ''
  })
  return { text: filled.join(''), missing }
}

/** Fills in `${secret.NAME}` and takes the escapes out: the text as a program gets it. */
export function fillSecrets(text: string, secrets: ReadonlyMap<string, string>, isJson = false): Filled {
  if (!text.includes('${')) return { text, missing: [] }
  const { parts } = parseReferences(text)
  const encode = encodingOf(parts, isJson)
  const missing: string[] = []
  const filled = parts.map((part) => {
    if (typeof part === 'string') return part
    const value = part.kind === 'secret' ? secrets.get(part.name) : undefined
    if (value === undefined) missing.push(part.name)
    return value === undefined ? '' : encode(value)
  })
  return { text: filled.join(''), missing }
}
