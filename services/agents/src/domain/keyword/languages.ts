import { stopwords as arabic } from '@orama/stopwords/arabic'
import { stopwords as armenian } from '@orama/stopwords/armenian'
import { stopwords as danish } from '@orama/stopwords/danish'
import { stopwords as dutch } from '@orama/stopwords/dutch'
import { stopwords as english } from '@orama/stopwords/english'
import { stopwords as finnish } from '@orama/stopwords/finnish'
import { stopwords as french } from '@orama/stopwords/french'
import { stopwords as german } from '@orama/stopwords/german'
import { stopwords as hungarian } from '@orama/stopwords/hungarian'
import { stopwords as irish } from '@orama/stopwords/irish'
import { stopwords as italian } from '@orama/stopwords/italian'
import { stopwords as norwegian } from '@orama/stopwords/norwegian'
import { stopwords as portuguese } from '@orama/stopwords/portuguese'
import { stopwords as romanian } from '@orama/stopwords/romanian'
import { stopwords as russian } from '@orama/stopwords/russian'
import { stopwords as spanish } from '@orama/stopwords/spanish'
import { stopwords as swedish } from '@orama/stopwords/swedish'
import { stopwords as tamil } from '@orama/stopwords/tamil'
import { stopwords as turkish } from '@orama/stopwords/turkish'
import snowball from 'snowball-stemmers'

const STOP_WORDS = {
  arabic,
  armenian,
  basque: [],
  catalan: [],
  czech: [],
  danish,
  dutch,
  english,
  finnish,
  french,
  german,
  hungarian,
  irish,
  italian,
  norwegian,
  portuguese,
  romanian,
  russian,
  slovene: [],
  spanish,
  swedish,
  tamil,
  turkish,
  none: [],
} as const satisfies Record<string, readonly string[]>

export type Language = keyof typeof STOP_WORDS

export const DEFAULT_LANGUAGE: Language = 'english'

/** The languages that a store may name; `none` neither stems nor leaves words out. */
export const LANGUAGES: readonly Language[] = Object.keys(STOP_WORDS) as Language[]

export const isLanguage = (name: unknown): name is Language =>
  typeof name === 'string' && Object.hasOwn(STOP_WORDS, name)

/** The language that a store's metadata names; English where it names none, or none that is known. */
export function languageOf(metadata: Readonly<Record<string, unknown>> | null | undefined): Language {
  const named = metadata?.language
  const name = typeof named === 'string' ? named.toLowerCase() : undefined
  return isLanguage(name) ? name : DEFAULT_LANGUAGE
}

export const stopWords = (language: Language): readonly string[] => STOP_WORDS[language]

/** @returns a function from a folded word to its stem */
export function createStemmer(language: Language): (word: string) => string {
  if (language === 'none') return (word) => word
  const stemmer = snowball.newStemmer(language)
  return (word) => stemmer.stem(word)
}
