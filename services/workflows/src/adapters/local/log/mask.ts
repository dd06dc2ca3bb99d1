const MASK = '***'
/** Shorter parts of a secret would blacken ordinary words. */
const SHORTEST_LINE = 6
/** Longer parts are masked as they are and in JSON alone: their lines are masked in every form. */
const LONGEST_ENCODED = 4096

export interface Mask {
  /** Characters of the longest text that is masked. */
  readonly longest: number
  apply(text: string): string
}

const quoted = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

const hex = (character: string, digits: number): string =>
  character.charCodeAt(0).toString(16).padStart(digits, '0')

/** As JSON, with letters beyond ASCII and without. */
function jsonForms(text: string): string[] {
  const json = JSON.stringify(text).slice(1, -1)
  return [json, json.replace(/[^\x20-\x7f]/g, (character) => `\\u${hex(character, 4)}`)]
}

/** As Python writes a string with its quotes: which ones it escapes depends on what surrounds the value. */
function reprForms(text: string): string[] {
  const repr = text
    .replace(/\\/g, '\\\\')
    .replace(/\n/g, '\\n')
    .replace(/\r/g, '\\r')
    .replace(/\t/g, '\\t')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is escaped.
    .replace(/[\x00-\x1f\x7f-\xa0\xad]/g, (character) => `\\x${hex(character, 2)}`)
  return [repr, repr.replace(/'/g, "\\'")]
}

const percent = (character: string): string => `%${hex(character, 2).toUpperCase()}`

/** Percent-encoded as a part of an address, as a path, as a form, and with small letters. */
function urlForms(text: string): string[] {
  const wellFormed = text.toWellFormed()
  const part = encodeURIComponent(wellFormed)
  const strict = part.replace(/[!'()*]/g, percent)
  const forms = [
    encodeURI(wellFormed),
    ...[part, strict].flatMap((form) => [form, form.replace(/%2F/g, '/')]),
  ]
  const withPlus = forms.flatMap((form) => [form, form.replace(/%20/g, '+')])
  return withPlus.flatMap((form) => [form, form.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase())])
}

function formsOf(part: string): string[] {
  if (part.length > LONGEST_ENCODED) return [part, ...jsonForms(part)]
  return [part, ...jsonForms(part), ...reprForms(part), ...urlForms(part)]
}

/**
 * Blackens secrets: each whole value, and each line of a value with several, for output comes in lines; also as JSON, as
 * Python shows a string, and percent-encoded.
 */
export function createMask(secrets: Iterable<string>): Mask {
  const parts = new Set<string>()
  for (const secret of secrets) {
    if (secret === '') continue
    const lines = secret.split(/\r?\n/).filter((line) => line.length >= SHORTEST_LINE)
    for (const part of new Set([secret, secret.trim(), ...lines])) {
      if (part !== '') for (const form of formsOf(part)) parts.add(form)
    }
  }
  if (parts.size === 0) return { longest: 0, apply: (text) => text }
  const ordered = [...parts].sort((a, b) => b.length - a.length)
  const pattern = new RegExp(ordered.map(quoted).join('|'), 'g')
  return { longest: ordered[0]?.length ?? 0, apply: (text) => text.replace(pattern, MASK) }
}
