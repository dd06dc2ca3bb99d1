import { LRUCache } from 'lru-cache'
import type { AgentsDb } from '../../queries/tables.ts'
import {
  beginEpoch,
  copyWords,
  currentEpoch,
  finishEpoch,
  insertWords,
  type NearWordRow,
  type StoreKey,
  selectEpochBegun,
  selectHeldStems,
  selectNearWords,
  type WordRow,
} from '../../queries/vocabulary.ts'
import { analyseQuery, type JoinedWords } from './analyse.ts'
import { KnownWords } from './known-words.ts'
import { type Expansion, expand, lettersOf, mostEdits } from './similar.ts'

export type { StoreKey } from '../../queries/vocabulary.ts'

/** What to search for. */
export interface KeywordPlan {
  /** The query's own terms, distinct. */
  readonly exact: readonly string[]
  /** For the query's words that no row holds: the terms they may have meant. */
  readonly expansions: readonly Expansion[]
  /** For the query's other words: terms that rows may have meant by them. Looked up when called. */
  similar(): Promise<readonly Expansion[]>
}

export interface Vocabulary {
  /**
   * Notes the words of rows, before they are written: then the vocabulary never lacks a word that a row holds.
   * @param words as from `analyseChunks`
   */
  note(key: StoreKey, words: JoinedWords): Promise<void>
  /** @param options fuzzy false leaves the expansions out */
  plan(
    key: StoreKey,
    queryText: string,
    language: string,
    options: { readonly fuzzy: boolean },
  ): Promise<KeywordPlan>
  /**
   * Drops the words that no row holds any more. It takes two calls, the second at least `graceMs` after the first,
   * so that rows which were on their way at the first are found by the second. One process at a time per store.
   * @param readTerms reads the column `terms` of all rows, in batches
   */
  rebuild(
    key: StoreKey,
    readTerms: () => AsyncIterable<readonly string[]>,
  ): Promise<'begun' | 'waiting' | 'done'>
}

export interface VocabularyOptions {
  /** Longer than it takes to add rows. Default 10 minutes. */
  readonly graceMs?: number
  /** How long a term once found is taken for held. Default 60 s. */
  readonly heldMs?: number
}

/** Distinct terms of a query; the rest is ignored. */
const MOST_TERMS = 1024
/** Words of a query for which similar ones are looked up. */
const MOST_FUZZY = 16
const WORDS_AN_INSERT = 5000

/** The stores' words in PostgreSQL. One for a process: it remembers what it noted. */
export function createVocabulary(db: AgentsDb, options: VocabularyOptions = {}): Vocabulary {
  const { graceMs = 600_000, heldMs = 60_000 } = options
  const noted = new KnownWords()
  const held = new LRUCache<string, true>({ max: 20_000, ttl: heldMs })

  async function heldOf(key: StoreKey, stems: readonly string[]): Promise<ReadonlySet<string>> {
    const name = (stem: string) => `${key.vectorStoreId}/${stem}`
    const found = new Set(stems.filter((stem) => held.has(name(stem))))
    const open = stems.filter((stem) => !found.has(stem))
    if (open.length === 0) return found
    for (const stem of await selectHeldStems(db, key, open)) {
      held.set(name(stem), true)
      found.add(stem)
    }
    return found
  }

  async function note(key: StoreKey, { words, stems }: JoinedWords): Promise<void> {
    const epoch = await currentEpoch(db, key)
    if (epoch === undefined || words === '') return
    const ofEpoch = noted.of(`${key.vectorStoreId}/${epoch}`)
    const stemAt = stems.split(' ')
    const fresh: WordRow[] = []
    for (const [at, word] of words.split(' ').entries()) {
      if (!ofEpoch.has(word)) fresh.push({ word, stem: stemAt[at] ?? word, letters: lettersOf(word) })
    }
    fresh.sort((a, b) => (a.word < b.word ? -1 : 1))
    for (let i = 0; i < fresh.length; i += WORDS_AN_INSERT) {
      const part = fresh.slice(i, i + WORDS_AN_INSERT)
      await insertWords(db, key, epoch, part)
      for (const { word } of part) ofEpoch.add(word)
    }
  }

  return {
    note,

    async plan(key, queryText, language, { fuzzy }) {
      const words = analyseQuery(queryText, language, MOST_TERMS)
      const exact = [...new Set(words.values())]
      const none = { exact, expansions: [], similar: async () => [] }
      if (!fuzzy || exact.length === 0) return none
      const known = await heldOf(key, exact)
      const taken = new Set(exact)
      const [right, unknown] = divide([...words.keys()], (word) => known.has(words.get(word) ?? word))
      return {
        exact,
        expansions: await expandAll(db, key, unknown, taken),
        similar: () => expandAll(db, key, right, taken),
      }
    },

    async rebuild(key, readTerms) {
      if (await beginEpoch(db, key)) return 'begun'
      const begun = await selectEpochBegun(db, key)
      if (begun === undefined) return 'done'
      if (begun.age_ms < graceMs) return 'waiting'
      const copied = new KnownWords().of(key.vectorStoreId)
      for await (const batch of readTerms()) {
        const stems = new Set(batch.flatMap((terms) => terms.split(' ')).filter((stem) => !copied.has(stem)))
        stems.delete('')
        if (stems.size > 0) await copyWords(db, key, begun.epoch, [...stems])
        for (const stem of stems) copied.add(stem)
      }
      await finishEpoch(db, key, begun.epoch)
      return 'done'
    },
  }
}

function divide<T>(items: readonly T[], first: (item: T) => boolean): [T[], T[]] {
  return [items.filter(first), items.filter((item) => !first(item))]
}

/** Words one edit away are looked up first: most misspelt words are, and it reads far less of the vocabulary. */
async function expandAll(
  db: AgentsDb,
  key: StoreKey,
  words: readonly string[],
  taken: ReadonlySet<string>,
): Promise<Expansion[]> {
  const expansions: Expansion[] = []
  let open = words.filter((word) => mostEdits(word.length) > 0).slice(0, MOST_FUZZY)
  for (const edits of [1, 2]) {
    open = open.filter((word) => mostEdits(word.length) >= edits)
    if (open.length === 0) break
    const asked = open.map((word) => ({ word, letters: lettersOf(word), edits }))
    const near = Map.groupBy(await selectNearWords(db, key, asked), (row: NearWordRow) => row.asked)
    const [found, rest] = divide(
      open.map((word) => ({ word, expansion: expand(word, near.get(word) ?? [], taken) })),
      ({ expansion }) => expansion !== undefined,
    )
    for (const { expansion } of found) if (expansion !== undefined) expansions.push(expansion)
    open = rest.map(({ word }) => word)
  }
  return expansions
}
