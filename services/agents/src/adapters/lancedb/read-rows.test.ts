import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { connect, type Table } from '@lancedb/lancedb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RowSelection, readRows } from './read-rows.ts'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-rows-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** A batch of rows that were made in one millisecond. */
const batchOf = (time: number, count: number, document = 'd') =>
  Array.from({ length: count }, (_, index) => ({
    embedding_id: `${String(time).padStart(6, '0')}-${String(index).padStart(6, '0')}`,
    document_id: `${document}${index % 2}`,
    sequence: index,
    chunk: `chunk ${time} ${index}`,
    metadata: '{}',
    created_at: time,
  }))

async function tableOf(name: string, batches: readonly ReturnType<typeof batchOf>[]): Promise<Table> {
  const db = await connect(folder)
  const [first, ...others] = batches
  const table = await db.createTable(name, first ?? [])
  for (const batch of others) await table.add(batch)
  return table
}

async function idsIn(table: Table, selection: RowSelection = {}): Promise<string[]> {
  const ids: string[] = []
  for await (const batch of readRows(table, selection)) ids.push(...batch.map((row) => row.embedding_id))
  return ids
}

describe.each([
  ['in order', [10, 20, 20, 30]],
  ['out of order', [30, 10, 20, 5]],
] as const)('rows that lie %s', (name, times) => {
  const SIZES = [1500, 1700, 900, 2100]
  const batches = times.map((time, index) => batchOf(time + index / 8, SIZES[index] ?? 0))
  const all = batches.flat().toSorted((a, b) => a.created_at - b.created_at || a.sequence - b.sequence)
  const ids = (rows: typeof all) => rows.map((row) => row.embedding_id)
  let table: Table

  beforeAll(async () => {
    table = await tableOf(name.replaceAll(' ', '_'), batches)
  })

  it('come in the order of their creation, all of them', async () => {
    expect(await idsIn(table)).toEqual(ids(all))
  })

  it('come by page and by condition', async () => {
    const even = all.filter((row) => row.document_id === 'd0')
    for (const [limit, offset] of [
      [1000, 0],
      [1000, 1000],
      [700, 2100],
      [1, 1999],
      [5000, 3000],
      [10, 6200],
      [10, 100_000],
    ] as const) {
      expect(await idsIn(table, { limit, offset })).toEqual(ids(all.slice(offset, offset + limit)))
      expect(await idsIn(table, { limit, offset, where: "document_id = 'd0'" })).toEqual(
        ids(even.slice(offset, offset + limit)),
      )
    }
    expect(await idsIn(table, { where: "document_id = 'none' OR document_id = 'd0'" })).toEqual(ids(even))
    expect(await idsIn(table, { where: "document_id = 'none'" })).toEqual([])
  })

  it('come in the same order after a compaction', async () => {
    await table.optimize()
    expect(await idsIn(table)).toEqual(ids(all))
  })
})
