import type { Table } from '@lancedb/lancedb'
import type { EmbeddingRow } from '../../adapters/lancedb/embedding-table.ts'
import { type Hit, readVectors, type ShownRows } from '../../adapters/lancedb/shown-rows.ts'

/** A row that a search found. */
export interface Found {
  readonly row: EmbeddingRow
  readonly score: number
  /** Only where it was asked for. */
  readonly vector?: Float32Array | undefined
}

/** More than compactions could come in between: what is absent each time was deleted. */
const ATTEMPTS = 3

/** Runs a search and reads what it found; once more when a compaction moved rows in between. */
export async function foundBy(
  rows: ShownRows,
  table: Table,
  search: () => Promise<readonly Hit[]>,
  includeVectors = false,
): Promise<Found[]> {
  for (let attempt = 1; ; attempt++) {
    const hits = await search()
    const found = await read(rows, table, hits, includeVectors)
    // Searches of both kinds, one before and one after it moved, find a row at two addresses.
    const distinct = new Map(found.map((one) => [one.row.embedding_id, one]))
    if (distinct.size === hits.length || attempt === ATTEMPTS) return [...distinct.values()]
  }
}

async function read(
  rows: ShownRows,
  table: Table,
  hits: readonly Hit[],
  includeVectors: boolean,
): Promise<Found[]> {
  const addresses = hits.map(({ address }) => address)
  const [shown, vectors] = await Promise.all([
    rows.read(table, addresses),
    includeVectors ? readVectors(table, addresses) : undefined,
  ])
  return hits.flatMap(({ address, score }) => {
    const row = shown.get(address)
    const vector = vectors?.get(address)
    return row === undefined || (includeVectors && vector === undefined) ? [] : [{ row, score, vector }]
  })
}
