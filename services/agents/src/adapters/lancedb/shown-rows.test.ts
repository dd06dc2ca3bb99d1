import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Connection, connect, type Table } from '@lancedb/lancedb'
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { foundBy } from '../../domain/search/found.ts'
import { ADDRESS, type Hit, readVectors, ShownRows } from './shown-rows.ts'

let folder = ''
let lance: Connection
let table: Table
let made = 0
let rows: ShownRows

const rowOf = (id: string, at: number) => ({
  embedding_id: id,
  document_id: `document of ${id}`,
  sequence: at,
  chunk: `chunk of ${id}`,
  metadata: at % 2 === 0 ? `{"at":${at}}` : null,
  created_at: 1000 + at,
})
const stored = (ids: readonly string[], vector = [1, 2, 3]) =>
  ids.map((id, at) => ({ ...rowOf(id, at), vector }))

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-shown-rows-'))
  lance = await connect(folder, { readConsistencyInterval: 0 })
})
beforeEach(async () => {
  table = await lance.createTable(`t${++made}`, stored(['a', 'b', 'c', 'd']))
  rows = new ShownRows(1024 * 1024)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function addressesOf(...ids: string[]): Promise<bigint[]> {
  const found: { embedding_id: string; [ADDRESS]: bigint }[] = await table
    .query()
    .select(['embedding_id'])
    .withRowId()
    .toArray()
  return ids.map((id) => found.find((row) => row.embedding_id === id)?.[ADDRESS] ?? -1n)
}

const reads = () => vi.spyOn(table, 'takeRowIds')

describe('rows by their addresses', () => {
  it('are what was written, each once, and remembered', async () => {
    const [a, b] = (await addressesOf('a', 'b')) as [bigint, bigint]
    const taken = reads()
    const found = await rows.read(table, [b, a, b])
    expect(found).toEqual(
      new Map([
        [a, rowOf('a', 0)],
        [b, rowOf('b', 1)],
      ]),
    )
    expect(await rows.read(table, [a])).toEqual(new Map([[a, rowOf('a', 0)]]))
    expect(await rows.read(table, [])).toEqual(new Map())
    expect(taken.mock.calls).toEqual([[[b, a]]])
  })

  it('are of one table, though another has the same addresses', async () => {
    const [a] = (await addressesOf('a')) as [bigint]
    await rows.read(table, [a])
    const other = await lance.createTable(`t${++made}`, stored(['other']))
    expect((await rows.read(other, [a])).get(a)?.embedding_id).toBe('other')
    expect((await rows.read(table, [a])).get(a)?.embedding_id).toBe('a')
  })

  it('are read together by searches at the same time', async () => {
    const [a, b, c, d] = (await addressesOf('a', 'b', 'c', 'd')) as [bigint, bigint, bigint, bigint]
    const taken = reads()
    const all = await Promise.all([[a], [b, c], [c, d], [a, d]].map((some) => rows.read(table, some)))
    expect(all.map((found) => [...found.values()].map((row) => row.embedding_id))).toEqual([
      ['a'],
      ['b', 'c'],
      ['c', 'd'],
      ['a', 'd'],
    ])
    // The first at once, the others when it has ended.
    expect(taken.mock.calls).toEqual([[[a]], [[b, c, d, a]]])
  })

  it('fail for those alone who asked when reading failed', async () => {
    const [a, b] = (await addressesOf('a', 'b')) as [bigint, bigint]
    const taken = reads().mockImplementationOnce(() => {
      throw new Error('disk')
    })
    const [first, second] = await Promise.allSettled([rows.read(table, [a]), rows.read(table, [b])])
    expect(first).toMatchObject({ status: 'rejected', reason: new Error('disk') })
    expect(second).toMatchObject({ status: 'fulfilled' })
    expect((await rows.read(table, [a])).size).toBe(1)
    expect(taken).toHaveBeenCalledTimes(3)
  })

  it('take no more memory than they may', async () => {
    const few = new ShownRows(1500)
    const addresses = await addressesOf('a', 'b', 'c', 'd')
    await few.read(table, addresses)
    const taken = reads()
    expect((await few.read(table, addresses)).size).toBe(4)
    expect(taken.mock.calls[0]?.[0].length).toBeGreaterThan(1)
  })

  it('are absent when they were deleted or moved', async () => {
    const [a, b] = (await addressesOf('a', 'b')) as [bigint, bigint]
    await table.delete("embedding_id = 'b'")
    expect([...(await rows.read(table, [a, b])).keys()]).toEqual([a])
    await compact()
    const fresh = new ShownRows(1024)
    expect(await fresh.read(table, [a])).toEqual(new Map())
    expect(await readVectors(table, [a])).toEqual(new Map())
    const [moved] = (await addressesOf('a')) as [bigint]
    expect(await readVectors(table, [moved])).toEqual(new Map([[moved, Float32Array.of(1, 2, 3)]]))
  })
})

/** Writes all rows to new addresses. */
async function compact(): Promise<void> {
  await table.add(stored(['e']))
  await table.optimize()
}

describe('what a search found', () => {
  const hitsOf = async (...ids: string[]): Promise<Hit[]> =>
    (await addressesOf(...ids)).map((address, at) => ({ address, score: 1 - at / 10 }))
  const found = (search: () => Promise<readonly Hit[]>, includeVectors?: boolean) =>
    foundBy(rows, table, search, includeVectors)

  it('is searched again when rows have moved in between', async () => {
    const attempts = [
      async () => {
        const hits = await hitsOf('a', 'c')
        await compact()
        return hits
      },
      () => hitsOf('c', 'a'),
    ]
    const answer = await found(async () => (await attempts.shift()?.()) ?? [], true)
    expect(answer).toEqual([
      { row: rowOf('c', 2), score: 1, vector: Float32Array.of(1, 2, 3) },
      { row: rowOf('a', 0), score: 0.9, vector: Float32Array.of(1, 2, 3) },
    ])
    expect(attempts).toEqual([])
  })

  it('has no row twice, though a search found it where it was and where it is', async () => {
    const before = await hitsOf('a', 'b')
    await rows.read(
      table,
      before.map(({ address }) => address),
    )
    await compact()
    const attempts = [async () => [...before, ...(await hitsOf('a'))], () => hitsOf('a')]
    const answer = await found(async () => (await attempts.shift()?.()) ?? [])
    expect(answer.map(({ row }) => row.embedding_id)).toEqual(['a'])
    expect(attempts).toEqual([])
  })

  it('is without what is deleted each time', async () => {
    const search = vi.fn(async () => [...(await hitsOf('b')), { address: 2n ** 41n, score: 0 }])
    expect((await found(search)).map(({ row }) => row.embedding_id)).toEqual(['b'])
    expect(search).toHaveBeenCalledTimes(3)
  })
})
