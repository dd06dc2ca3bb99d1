import { type Data, Field, Utf8 } from 'apache-arrow'
import { analyseInto } from '../../domain/keyword/analyse.ts'
import { utf8Data } from './utf8-data.ts'

/** The column that keyword searches read: a chunk's terms joined by a space, empty where it has none. */
export const TERMS = 'terms'

export const TEXT_FIELDS: readonly Field[] = [new Field(TERMS, new Utf8(), false)]

export interface AnalysedChunks {
  /** The column's values, one per chunk. */
  readonly terms: readonly string[]
  /** Distinct words of all chunks with their stems, for the store's vocabulary. */
  readonly words: ReadonlyMap<string, string>
}

/** @param language of the store, as `languageOf` its metadata */
export function analyseChunks(
  chunks: readonly (string | null | undefined)[],
  language: string,
): AnalysedChunks {
  const words = new Map<string, string>()
  const terms = chunks.map((chunk) =>
    chunk === null || chunk === undefined ? '' : analyseInto(chunk, language, words).join(' '),
  )
  return { terms, words }
}

/** Arrow data in the order of `TEXT_FIELDS`. */
export function textColumns(terms: readonly string[]): Data[] {
  return [utf8Data(terms)]
}
