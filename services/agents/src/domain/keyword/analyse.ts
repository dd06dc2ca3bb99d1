import { createStemmer, DEFAULT_LANGUAGE, isLanguage, type Language, stopWords } from './languages.ts'
import { wordsOf } from './words.ts'

export { DEFAULT_LANGUAGE, isLanguage, LANGUAGES, type Language, languageOf } from './languages.ts'

/** Words remembered with their stems, per language; they come to a few MB. */
const REMEMBERED = 50_000

/** What stands for a word that is left out. */
const LEFT_OUT = ''

/** Words to stems, remembering two generations of words, so that frequent ones stay. */
class Stems {
  readonly #stem: (word: string) => string
  #young = new Map<string, string>()
  #old = new Map<string, string>()

  constructor(language: Language) {
    const stem = createStemmer(language)
    const left = new Set(stopWords(language).map((word) => wordsOf(word, false).join(' ')))
    this.#stem = (word) => (left.has(word) ? LEFT_OUT : stem(word))
  }

  of(word: string): string {
    const found = this.#young.get(word)
    if (found !== undefined) return found
    const stem = this.#old.get(word) ?? this.#stem(word)
    if (this.#young.size >= REMEMBERED / 2) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(word, stem)
    return stem
  }
}

const stems = new Map<Language, Stems>()

function stemsOf(language: string): Stems {
  const known = isLanguage(language) ? language : DEFAULT_LANGUAGE
  let found = stems.get(known)
  if (found === undefined) {
    found = new Stems(known)
    stems.set(known, found)
  }
  return found
}

/**
 * The terms of a text in their order: folded words, without the language's stop words, stemmed.
 * @param language one of `LANGUAGES`; another name counts as English
 */
export function analyse(text: string, language: string): string[] {
  const known = stemsOf(language)
  const terms: string[] = []
  for (const word of wordsOf(text, false)) {
    const stem = known.of(word)
    if (stem !== LEFT_OUT) terms.push(stem)
  }
  return terms
}

/** As `analyse`, also collecting every distinct word with its stem into `words`. */
export function analyseInto(text: string, language: string, words: Map<string, string>): string[] {
  const known = stemsOf(language)
  const terms: string[] = []
  for (const word of wordsOf(text, false)) {
    let stem = words.get(word)
    if (stem === undefined) {
      stem = known.of(word)
      if (stem === LEFT_OUT) continue
      words.set(word, stem)
    }
    terms.push(stem)
  }
  return terms
}

/**
 * The distinct words of a query with their stems, in their order.
 * @param most further words are ignored
 */
export function analyseQuery(text: string, language: string, most: number): Map<string, string> {
  const known = stemsOf(language)
  const words = new Map<string, string>()
  for (const word of wordsOf(text, true)) {
    if (words.size >= most) break
    const stem = known.of(word)
    if (stem !== LEFT_OUT) words.set(word, stem)
  }
  return words
}
