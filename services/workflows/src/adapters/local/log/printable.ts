/** Colours, and movements of a terminal's cursor. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const TERMINAL_CODES = /\x1b\[[0-?]{0,32}[ -/]{0,4}[@-~]/g
/** Of the longest of these. */
export const LONGEST_TERMINAL_CODE = 39
/** Control characters but tab and line feed, and those that turn the direction of what is read. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const UNPRINTABLE = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ufeff]/g

const escaped = (character: string): string => {
  const code = character.charCodeAt(0)
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, '0')}`
    : `\\u${code.toString(16).padStart(4, '0')}`
}

/** Text without what only a terminal reads. */
export const withoutTerminalCodes = (text: string): string => text.replace(TERMINAL_CODES, '')

/** Text that shows what a task said and does nothing to whoever reads it: controls are spelt out. */
export const printable = (text: string): string => text.replace(UNPRINTABLE, escaped)
