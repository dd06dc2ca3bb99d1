import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Connection, connect, type Table } from '@lancedb/lancedb'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createFullTextIndex } from '../lancedb/full-text-index.ts'
import { optimize } from './optimize.ts'
import { stateOf } from './state.ts'

let folder = ''
let lance: Connection

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-optimize-'))
  lance = await connect(folder, { readConsistencyInterval: 0 })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const rows = (from: number, count: number) =>
  Array.from({ length: count }, (_, at) => ({
    terms: `word${from + at}`,
    facets: [`label${at % 3}`],
    vector: Array.from({ length: 4 }, (_, n) => Math.sin((from + at) * (n + 1))),
  }))

const files = async (table: Table): Promise<number> => (await table.stats()).fragmentStats.numFragments

it('leaves one file and one part when the index is made anew, so that the next tail has none to merge', async () => {
  const table = await lance.createTable('t', rows(0, 400))
  await createFullTextIndex(table)
  const task = { tableName: 't', isUrgent: false, pruneBefore: undefined }
  expect(await optimize(table, { ...task, upkeep: 'rebuild' })).toEqual({ builtRows: 400 })
  for (const from of [400, 500]) {
    await table.add(rows(from, 100))
    expect(await optimize(table, { ...task, upkeep: 'index' })).toEqual({ builtRows: undefined })
  }
  expect(await stateOf(table)).toMatchObject({ vectorParts: 3, vectorTail: 0, textTail: 0 })
  expect(await files(table)).toBe(3)
  expect(await optimize(table, { ...task, upkeep: 'rebuild' })).toEqual({ builtRows: 600 })
  expect(await stateOf(table)).toMatchObject({ rows: 600, vectorParts: 1, vectorTail: 0, textTail: 0 })
  expect(await files(table)).toBe(1)
})
