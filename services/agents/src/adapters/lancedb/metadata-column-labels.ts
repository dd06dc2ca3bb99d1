import { hash } from 'node:crypto'
import type { Json } from '../../domain/filter/filter.ts'

/**
 * What a label says of a path. Absence is only spelt out below arrays, where one path has several values:
 * elsewhere the label `exists` is missing.
 * - `array`: an array is there
 * - `object`: below an array, an object is there
 * - `plain`: below an array, a key has a value that is no object and no array
 * - `lack`: below an array, an object has the key and another lacks it
 */
const KINDS = {
  exists: 'e',
  array: 'a',
  object: 'o',
  plain: 'p',
  lack: 'l',
  string: 's',
  number: 'n',
  boolean: 'b',
  null: 'z',
  json: 'j',
  term: 't',
} as const
type Kind = keyof typeof KINDS

// The index over labels keeps them in memory: a long value is there as its digest.
const LONGEST_LABEL = 96

/** What all labels of a path begin with. */
export type LabelledPath = string & { readonly LabelledPath: never }

export const labelledPath = (path: string): LabelledPath => `${escaped(path)}\u0001` as LabelledPath

/** One entry of the column `facets`: unambiguous, whatever the path and the value hold. */
export function labelAt(path: LabelledPath, kind: Kind, value = ''): string {
  const label = path + KINDS[kind] + escaped(value)
  return label.length <= LONGEST_LABEL ? label : `\u0002${hash('sha256', label, 'base64')}`
}

/** The label of a value at a path; equal values have equal labels. */
export function valueLabelAt(path: LabelledPath, value: Json): string {
  if (typeof value === 'string') return labelAt(path, 'string', value)
  // Adding zero makes -0 the 0 that it equals.
  if (typeof value === 'number') return labelAt(path, 'number', String(value + 0))
  if (typeof value === 'boolean') return labelAt(path, 'boolean', value ? 't' : 'f')
  return value === null ? labelAt(path, 'null') : labelAt(path, 'json', JSON.stringify(value))
}

export const labelOf = (kind: Kind, path: string, value?: string): string =>
  labelAt(labelledPath(path), kind, value)

export const valueLabel = (path: string, value: Json): string => valueLabelAt(labelledPath(path), value)

// biome-ignore lint/suspicious/noControlCharactersInRegex: these four are the separators
const SEPARATOR = /[\u0000-\u0003]/

/**
 * Text without the characters U+0000 to U+0002, which separate: those and U+0003 become U+0003 and one more, so
 * that the order of code points stays.
 */
export function escaped(text: string): string {
  if (!SEPARATOR.test(text)) return text
  return text.replaceAll(
    new RegExp(SEPARATOR, 'g'),
    (char) => `\u0003${String.fromCharCode(char.charCodeAt(0) + 0x10)}`,
  )
}
