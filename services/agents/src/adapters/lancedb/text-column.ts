import type { Data, Field } from 'apache-arrow'
import { analyse, type JoinedWords, WordList } from '../../domain/keyword/analyse.ts'
import { utf8Data, utf8Field } from './utf8-data.ts'

/** The column that keyword searches read: a chunk's terms joined by a space, empty where it has none. */
export const TERMS = 'terms'

/** The index leaves out terms of so many bytes of UTF-8. */
export const TOO_LONG_TERM = 4096

export const TEXT_FIELDS: readonly Field[] = [utf8Field(TERMS, false)]

export interface AnalysedChunks {
  /** The column's values, one per chunk. */
  readonly terms: readonly string[]
  /** Words of all chunks, for the store's vocabulary. */
  readonly words: JoinedWords
}

/** @param language of the store, as `languageOf` its metadata */
export function analyseChunks(
  chunks: readonly (string | null | undefined)[],
  language: string,
): AnalysedChunks {
  const list = new WordList()
  const terms = chunks.map((chunk) =>
    chunk === null || chunk === undefined ? '' : analyse(chunk, language, list).join(' '),
  )
  return { terms, words: list.joined() }
}

/** Arrow data in the order of `TEXT_FIELDS`. */
export function textColumns(terms: readonly string[]): Data[] {
  return [utf8Data(terms)]
}
