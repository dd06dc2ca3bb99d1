import { MatchQuery, type Table } from '@lancedb/lancedb'
import { LRUCache } from 'lru-cache'
import { fullTextState } from './full-text-index.ts'
import { ADDRESS } from './shown-rows.ts'
import { TERMS } from './text-column.ts'
import { type KnownTerms, TextStatistics } from './text-statistics.ts'
import { TailSegment, type TermWeights, TextTail } from './text-tail.ts'

/** The engine reads fewer rows as fast, and more of them are soon indexed. */
const ROWS = { least: 64, most: 5000 }
/** Pairs of row and term, 40 bytes each, that one tail may have, and all of a process. */
const PAIRS = { ofOne: 500_000, ofAll: 1_000_000 }
/** Letters of one tail's texts: they are all in memory while it is read. */
const LETTERS = 8_000_000
/** Tables whose tails are remembered. */
const TABLES = 1000
/** Terms of all tables whose weight is remembered. */
const TERMS_OF_ALL = 100_000
/** A tail is read anew instead of being put together from more. */
const MOST_SEGMENTS = 16
/** Files that a tail may lie in. */
const MOST_FRAGMENTS = 256
/** Reading is followed by a pause so many times as long, however often the table is written to. */
const PAUSE = 4

/** What the full-text index does not hold at the table's present version. */
export interface KnownTail {
  readonly tail: TextTail
  /** As `TextStatistics.weigh`. */
  weigh(terms: Iterable<string>): Promise<TermWeights | undefined>
}

interface State {
  readonly version: number
  /** Rows of the index. */
  readonly indexed: number
  /** Undefined where the engine is to read it. */
  readonly tail: TextTail | undefined
}

interface Reader {
  /** The table's: a table that is opened again is another. */
  readonly number: number
  readonly statistics: TextStatistics
  reading: Promise<void> | undefined
  /** In milliseconds since the process began. */
  notBefore: number
}

/**
 * The rows of each table that its full-text index does not hold yet, kept in memory, so that not every search reads
 * them. No search waits for it: while a tail is unknown, for any reason, the engine reads it.
 */
export class TextTails {
  /** By the reader's number: tables that nobody uses any more may go. */
  readonly #states = new LRUCache<number, State>({
    max: TABLES,
    maxSize: PAIRS.ofAll,
    sizeCalculation: ({ tail }) => 1 + (tail?.size ?? 0),
  })
  readonly #readers = new WeakMap<Table, Reader>()
  #opened = 0
  readonly #terms: KnownTerms = new LRUCache({ max: TERMS_OF_ALL })

  /** The tail at the table's present version; undefined where the engine has to read it. */
  async at(table: Table): Promise<KnownTail | undefined> {
    const version = await table.version()
    const reader = this.#readerOf(table)
    const state = this.#states.get(reader.number)
    if (state?.version !== version) {
      if (reader.reading === undefined && performance.now() >= reader.notBefore) {
        reader.reading = this.#read(table, reader)
      }
      return undefined
    }
    const { tail, indexed } = state
    if (tail === undefined) return undefined
    return { tail, weigh: (terms) => reader.statistics.weigh(table, tail, terms, indexed) }
  }

  #readerOf(table: Table): Reader {
    const found = this.#readers.get(table)
    if (found !== undefined) return found
    const reader: Reader = {
      number: ++this.#opened,
      statistics: new TextStatistics(this.#terms),
      reading: undefined,
      notBefore: 0,
    }
    this.#readers.set(table, reader)
    return reader
  }

  async #read(table: Table, reader: Reader): Promise<void> {
    const began = performance.now()
    try {
      const state = await readState(table, this.#states.peek(reader.number)?.tail?.segments ?? [])
      if (state !== undefined) this.#states.set(reader.number, state)
    } catch {
      // The searches themselves meet the same trouble, and tell it.
    }
    const ended = performance.now()
    reader.notBefore = ended + PAUSE * (ended - began)
    reader.reading = undefined
  }
}

/** @returns undefined when somebody wrote to the table meanwhile */
async function readState(table: Table, before: readonly TailSegment[]): Promise<State | undefined> {
  const version = await table.version()
  const { rows, unindexed } = await fullTextState(table)
  const indexed = rows - unindexed
  const isOurs =
    unindexed === 0 || (unindexed >= ROWS.least && unindexed <= ROWS.most && unindexed <= indexed)
  const tail = isOurs ? await readTail(table, indexed, unindexed, before) : undefined
  if ((await table.version()) !== version) return undefined
  return { version, indexed, tail }
}

/**
 * The rows that follow the first `indexed` ones. Indexed rows come first but for moments of a compaction: what was
 * read is the tail when it has as many rows and no file of them is in the index.
 * @returns undefined when they are not the tail, or too much for memory
 */
async function readTail(
  table: Table,
  indexed: number,
  unindexed: number,
  before: readonly TailSegment[],
): Promise<TextTail | undefined> {
  if (unindexed === 0) return new TextTail([], new Set())
  const addresses = await readAddresses(table, indexed)
  const live = new Set(addresses)
  if (live.size !== unindexed) return undefined
  let kept = before.filter((segment) => segment.addresses.some((address) => live.has(address)))
  if (kept.length >= MOST_SEGMENTS) kept = []
  const old = new Set(kept.flatMap((segment) => segment.addresses))
  let known = addresses.findIndex((address) => !old.has(address))
  if (known === -1) known = addresses.length
  // A compaction has moved some of them: no row may be in two segments.
  if (addresses.slice(known).some((address) => old.has(address))) [kept, known] = [[], 0]
  if (known < addresses.length) {
    const fresh = await readSegment(table, indexed + known)
    if (fresh === undefined) return undefined
    kept = [...kept, fresh]
  }
  const tail = new TextTail(kept, live)
  return tail.size > PAIRS.ofOne || (await isIndexed(table, tail)) ? undefined : tail
}

async function readAddresses(table: Table, offset: number): Promise<bigint[]> {
  const found = await table.query().select([ADDRESS]).withRowId().offset(offset).toArrow()
  return [...((found.getChild(ADDRESS)?.toArray() ?? []) as BigUint64Array)]
}

/** @returns undefined when the texts are too long */
async function readSegment(table: Table, offset: number): Promise<TailSegment | undefined> {
  const addresses: bigint[] = []
  const terms: string[] = []
  let letters = 0
  for await (const batch of table.query().select([TERMS]).withRowId().offset(offset)) {
    addresses.push(...((batch.getChild(ADDRESS)?.toArray() ?? []) as BigUint64Array))
    for (const joined of batch.getChild(TERMS) ?? []) {
      letters += joined.length
      if (letters > LETTERS) return undefined
      terms.push(joined)
    }
  }
  return new TailSegment(addresses, terms)
}

/** Whether any file of these rows is in the index, or that cannot be told: a file is in it whole or not at all. */
async function isIndexed(table: Table, tail: TextTail): Promise<boolean> {
  const samples = new Map<bigint, { address: bigint; term: string } | undefined>()
  for (const { addresses, samples: terms } of tail.segments) {
    for (const [row, address] of addresses.entries()) {
      const fragment = address >> 32n
      const term = terms[row]
      if (samples.get(fragment) !== undefined || !tail.has(address)) continue
      samples.set(fragment, term === undefined || term === '' ? undefined : { address, term })
    }
  }
  const chosen = [...samples.values()].filter((sample) => sample !== undefined)
  if (chosen.length < samples.size || chosen.length > MOST_FRAGMENTS) return true
  const found = await table
    .query()
    .fullTextSearch(new MatchQuery(chosen.map(({ term }) => term).join(' '), TERMS))
    .where(`${ADDRESS} IN (${chosen.map(({ address }) => address).join(', ')})`)
    .select(['_score'])
    .limit(1)
    .fastSearch()
    .toArrow()
  return found.numRows > 0
}
