/** Longer words are cut: they are noise, and each would weigh on the index and the vocabulary. */
const LONGEST_WORD = 64

const ASCII = /^[\0-\x7f]*$/
const ASCII_WORDS = /[a-z0-9]+/g
const WORDS = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu

/** Scripts written without spaces, and Hangul, whose words carry their particles. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu
const HAS_UNSPACED = new RegExp(UNSPACED.source, 'u')

const LATIN_MARKS = /(\p{Script=Latin})\p{Mn}+/gu
const LIGATURES: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  ł: 'l',
  þ: 'th',
  ı: 'i',
  ħ: 'h',
  ŧ: 't',
}
const LIGATURE = /[ßæœøđðłþıħŧ]/g

/** Lower case; Latin letters lose their accents, all other scripts keep their marks, which are letters there. */
function fold(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replace(LATIN_MARKS, '$1')
    .replace(LIGATURE, (letter) => LIGATURES[letter] ?? letter)
    .normalize('NFC')
}

const cut = (word: string): string =>
  word.length <= LONGEST_WORD ? word : word.slice(0, LONGEST_WORD).toWellFormed()

/**
 * Pairs of neighbours need no dictionary, which would differ between releases of the runtime and so between what
 * is stored and what is asked. Single letters are indexed as well, and asked for only where there is no pair.
 */
function pairs(run: string, asked: boolean, into: string[]): void {
  const letters = [...run]
  for (const [i, letter] of letters.entries()) {
    if (!asked || letters.length === 1) into.push(letter)
    const next = letters[i + 1]
    if (next !== undefined) into.push(letter + next)
  }
}

function split(word: string, asked: boolean, into: string[]): void {
  let from = 0
  for (const match of word.matchAll(UNSPACED)) {
    if (match.index > from) into.push(cut(word.slice(from, match.index)))
    pairs(match[0], asked, into)
    from = match.index + match[0].length
  }
  if (from < word.length) into.push(cut(word.slice(from)))
}

/**
 * The folded words of a text in their order: runs of letters and digits of any script, and pairs of letters where a
 * script has no spaces.
 * @param asked whether the text is a query, not something stored
 */
export function wordsOf(text: string, asked: boolean): readonly string[] {
  if (ASCII.test(text)) {
    const words = text.toLowerCase().match(ASCII_WORDS) ?? []
    return words.some((word) => word.length > LONGEST_WORD) ? words.map(cut) : words
  }
  const into: string[] = []
  for (const word of fold(text).match(WORDS) ?? []) {
    if (HAS_UNSPACED.test(word)) split(word, asked, into)
    else into.push(cut(word))
  }
  return into
}
