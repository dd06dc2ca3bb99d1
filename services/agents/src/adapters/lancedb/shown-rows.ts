import type { Table } from '@lancedb/lancedb'
import { LRUCache } from 'lru-cache'
import { type EmbeddingRow, rowsOf } from './embedding-table.ts'
import { SHOWN_COLUMNS } from './table-fields.ts'

/** A row that a search found, by its address in the table: LanceDB's row id. */
export interface Hit {
  readonly address: bigint
  readonly score: number
}

/** Name of the column of addresses. */
export const ADDRESS = '_rowid'

/** A row's strings take up to two bytes a letter; its object and its place in the cache take the rest. */
const bytesOf = ({ chunk, document_id: id, metadata }: EmbeddingRow): number =>
  2 * (chunk.length + id.length + (metadata?.length ?? 0)) + 600

/** Addresses that are read together next, and what comes of it. */
interface NextRead {
  readonly addresses: Set<bigint>
  readonly rows: Promise<Map<bigint, EmbeddingRow>>
}

/**
 * What rows show, read by their addresses and remembered: reading the columns of ten rows takes as long as finding
 * them does. Searches at the same time read together: forty rows take little longer than ten.
 *
 * What is remembered stays true. A row never changes, a compaction writes it to another address, and no address is
 * given twice; one whose row was deleted is no longer found by any search.
 */
export class ShownRows {
  readonly #known: LRUCache<string, EmbeddingRow>
  /** A table that is opened again is another: its name cannot be read while it is written to. */
  readonly #numbers = new WeakMap<Table, number>()
  #opened = 0
  /** The last read of each table that is under way, whether it ends well or not. */
  readonly #reading = new WeakMap<Table, Promise<unknown>>()
  readonly #next = new WeakMap<Table, NextRead>()

  /** @param bytes of memory, for all tables together */
  constructor(bytes: number) {
    this.#known = new LRUCache({ maxSize: bytes, sizeCalculation: bytesOf })
  }

  /** Rows by address. Those that were deleted, or moved by a compaction, are absent unless they are remembered. */
  async read(table: Table, addresses: readonly bigint[]): Promise<Map<bigint, EmbeddingRow>> {
    const rows = new Map<bigint, EmbeddingRow>()
    const unknown: bigint[] = []
    for (const address of addresses) {
      const row = this.#known.get(this.#keyOf(table, address))
      if (row === undefined) unknown.push(address)
      else rows.set(address, row)
    }
    if (unknown.length === 0) return rows
    const found = await this.#readTogether(table, unknown)
    for (const address of unknown) {
      const row = found.get(address)
      if (row !== undefined) rows.set(address, row)
    }
    return rows
  }

  /** Joins the read that begins when the one under way has ended. */
  #readTogether(table: Table, addresses: readonly bigint[]): Promise<Map<bigint, EmbeddingRow>> {
    const waiting = this.#next.get(table)
    if (waiting !== undefined) {
      for (const address of addresses) waiting.addresses.add(address)
      return waiting.rows
    }
    const together = new Set(addresses)
    const begin = (): Promise<Map<bigint, EmbeddingRow>> => {
      this.#next.delete(table)
      return this.#readNow(table, [...together])
    }
    const before = this.#reading.get(table)
    const rows = before === undefined ? begin() : before.then(begin)
    if (before !== undefined) this.#next.set(table, { addresses: together, rows })
    const ended = rows.then(
      () => undefined,
      () => undefined,
    )
    this.#reading.set(table, ended)
    void ended.then(() => {
      if (this.#reading.get(table) === ended) this.#reading.delete(table)
    })
    return rows
  }

  async #readNow(table: Table, addresses: bigint[]): Promise<Map<bigint, EmbeddingRow>> {
    const rows = new Map<bigint, EmbeddingRow>()
    const columns = [...SHOWN_COLUMNS, ADDRESS]
    for await (const batch of table.takeRowIds(addresses).select(SHOWN_COLUMNS).withRowId()) {
      for (const found of rowsOf<EmbeddingRow & { [ADDRESS]: bigint }>(batch, columns)) {
        const { [ADDRESS]: address, ...row } = found
        rows.set(address, row)
        this.#known.set(this.#keyOf(table, address), row)
      }
    }
    return rows
  }

  #keyOf(table: Table, address: bigint): string {
    const number = this.#numbers.get(table) ?? ++this.#opened
    this.#numbers.set(table, number)
    return `${number}/${address}`
  }
}

/** Vectors of rows by their addresses; those that were deleted or moved are absent. */
export async function readVectors(
  table: Table,
  addresses: readonly bigint[],
): Promise<Map<bigint, Float32Array>> {
  const vectors = new Map<bigint, Float32Array>()
  if (addresses.length === 0) return vectors
  for await (const batch of table
    .takeRowIds([...addresses])
    .select(['vector'])
    .withRowId()) {
    const column = batch.getChild('vector')
    const found = batch.getChild(ADDRESS)?.toArray() as BigUint64Array
    found.forEach((address, index) => {
      vectors.set(address, column?.get(index).toArray())
    })
  }
  return vectors
}
