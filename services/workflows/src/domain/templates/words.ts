/**
 * Cuts a line into words as a shell would, without any of its substitutions: blanks divide, quotes group, a backslash
 * takes the next character as it is.
 * @returns undefined where a quote has no end
 */
export function splitWords(line: string): string[] | undefined {
  const words: string[] = []
  let word: string | undefined
  let quote = ''
  for (let at = 0; at < line.length; at++) {
    const character = line.charAt(at)
    const isEscape = character === '\\' && quote !== "'" && at + 1 < line.length
    if (isEscape && (quote === '' || /["\\]/.test(line.charAt(at + 1))))
      word = (word ?? '') + line.charAt(++at)
    else if (character === quote) quote = ''
    else if (quote === '' && (character === '"' || character === "'")) {
      quote = character
      word ??= ''
    } else if (quote === '' && /\s/.test(character)) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else word = (word ?? '') + character
  }
  if (quote !== '') return undefined
  return word === undefined ? words : [...words, word]
}
