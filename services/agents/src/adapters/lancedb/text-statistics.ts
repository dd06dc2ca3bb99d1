import { MatchQuery, type Table } from '@lancedb/lancedb'
import type { LRUCache } from 'lru-cache'
import { inverseFrequency, meanLengthFrom, type ScoredOccurrence, saturation } from './bm25.ts'
import { TERMS } from './text-column.ts'
import { indexedTerms, type TermWeights, type TextTail } from './text-tail.ts'

/** Rows whose scores tell what a term weighs. */
const SAMPLED = 8
/** Terms that one search looks up; each costs 1 ms of a core. */
const MOST_LOOKUPS = 8
/** What was learnt is forgotten when the index has become so much larger or smaller. */
const DRIFT = 1.2

/** What an index says of a term. */
interface Known {
  /** Undefined: it did not hold the term when it had `indexed` rows. */
  readonly sample: ScoredOccurrence | undefined
  readonly indexed: number
}

/** What is known of terms, of all tables together. */
export type KnownTerms = LRUCache<string, Known>

/** Numbers what is known together. */
let begun = 0

/**
 * What the terms of a table weigh, which the engine does not tell: learnt from the scores that it gives to rows in
 * searches for single terms. They are exact; what is remembered is as old as a fifth of the rows at most.
 */
export class TextStatistics {
  readonly #known: KnownTerms
  readonly #asked = new Map<string, Promise<void>>()
  #number = ++begun
  #indexed = 0
  #meanLength: number | undefined

  constructor(known: KnownTerms) {
    this.#known = known
  }

  /**
   * Weights for those of the terms that the tail holds.
   * @param indexed rows of the index
   * @returns undefined while too little is known; a later search may find more
   */
  async weigh(
    table: Table,
    tail: TextTail,
    terms: Iterable<string>,
    indexed: number,
  ): Promise<TermWeights | undefined> {
    this.#forgetOld(indexed)
    const held = [...new Set(terms)].filter((term) => tail.holding(term) > 0)
    const unknown = held.filter((term) => !this.#isKnown(term, indexed))
    await Promise.all(unknown.slice(0, MOST_LOOKUPS).map((term) => this.#lookUp(table, term, indexed)))
    const meanLength = this.#meanLength
    if (meanLength === undefined || unknown.length > MOST_LOOKUPS) return undefined
    const weights = new Map<string, number>()
    for (const term of held) {
      const sample = this.#known.get(this.#keyOf(term))?.sample
      const weight =
        sample === undefined
          ? inverseFrequency(indexed + tail.rows, tail.holding(term))
          : sample.score / saturation(sample.times, sample.length, meanLength)
      weights.set(term, weight)
    }
    return { meanLength, inverseFrequency: weights }
  }

  #forgetOld(indexed: number): void {
    if (indexed < this.#indexed * DRIFT && indexed > this.#indexed / DRIFT) return
    this.#number = ++begun
    this.#meanLength = undefined
    this.#indexed = indexed
  }

  #isKnown(term: string, indexed: number): boolean {
    const known = this.#known.get(this.#keyOf(term))
    return known !== undefined && (known.sample !== undefined || known.indexed === indexed)
  }

  #keyOf(term: string): string {
    return `${this.#number}/${term}`
  }

  async #lookUp(table: Table, term: string, indexed: number): Promise<void> {
    const asked = this.#asked.get(term)
    if (asked !== undefined) return asked
    const begun = this.#ask(table, term, indexed).finally(() => this.#asked.delete(term))
    this.#asked.set(term, begun)
    return begun
  }

  async #ask(table: Table, term: string, indexed: number): Promise<void> {
    const found = await table
      .query()
      .fullTextSearch(new MatchQuery(term, TERMS))
      .select([TERMS, '_score'])
      .limit(SAMPLED)
      .fastSearch()
      .toArrow()
    const texts = found.getChild(TERMS)
    const scores = found.getChild('_score')
    const samples = Array.from({ length: found.numRows }, (_, at): ScoredOccurrence => {
      const terms = indexedTerms(texts?.get(at))
      return {
        score: scores?.get(at),
        times: terms.filter((other) => other === term).length,
        length: terms.length,
      }
    })
    const [first] = samples
    this.#known.set(this.#keyOf(term), { sample: first, indexed })
    for (const other of samples) {
      if (first !== undefined) this.#meanLength ??= meanLengthFrom(first, other)
    }
  }
}
