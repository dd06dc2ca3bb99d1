import { createStemmer, DEFAULT_LANGUAGE, isLanguage, type Language, stopWords } from './languages.ts'
import { wordsOf } from './words.ts'

export { DEFAULT_LANGUAGE, isLanguage, LANGUAGES, type Language, languageOf } from './languages.ts'

/** Words remembered with their stems, per language; they come to a few MB. */
const REMEMBERED = 50_000

/** What stands for a word that is left out. */
const LEFT_OUT = ''

const NUMBER = /^\d+$/

interface KnownWord {
  readonly stem: string
  /** Number of the list that it was last put on; the list itself would be kept alive. */
  list: number
}

let lists = 0

/** Distinct words with their stems. */
export class WordList {
  readonly number = ++lists
  readonly #words: string[] = []
  readonly #stems: string[] = []

  add(word: string, stem: string): void {
    this.#words.push(word)
    this.#stems.push(stem)
  }

  /** Two long texts cross threads in a tenth of the time that thousands of short ones take. */
  joined(): JoinedWords {
    return { words: this.#words.join(' '), stems: this.#stems.join(' ') }
  }
}

/** Words and their stems, which have no spaces, in the same order; both empty where there are none. */
export interface JoinedWords {
  readonly words: string
  readonly stems: string
}

/** Words to stems, remembering two generations of words, so that frequent ones stay. */
class Stems {
  readonly #stem: (word: string) => string
  #young = new Map<string, KnownWord>()
  #old = new Map<string, KnownWord>()

  constructor(language: Language) {
    const stem = createStemmer(language)
    const left = new Set(stopWords(language).map((word) => wordsOf(word, false).join(' ')))
    this.#stem = (word) => (left.has(word) ? LEFT_OUT : NUMBER.test(word) ? word : stem(word))
  }

  of(word: string): KnownWord {
    const found = this.#young.get(word)
    if (found !== undefined) return found
    const known = this.#old.get(word) ?? { stem: this.#stem(word), list: 0 }
    if (this.#young.size >= REMEMBERED / 2) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(word, known)
    return known
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
 * @param list gets the words that are not on it
 */
export function analyse(text: string, language: string, list?: WordList): string[] {
  const stems = stemsOf(language)
  const terms: string[] = []
  for (const word of wordsOf(text, false)) {
    const known = stems.of(word)
    if (known.stem === LEFT_OUT) continue
    terms.push(known.stem)
    // A word that was forgotten meanwhile may be listed twice, which hurts nobody.
    if (list === undefined || known.list === list.number) continue
    known.list = list.number
    list.add(word, known.stem)
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
    const { stem } = known.of(word)
    if (stem !== LEFT_OUT) words.set(word, stem)
  }
  return words
}
