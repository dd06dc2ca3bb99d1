import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { connect, type Table } from '@lancedb/lancedb'
import { Table as Rows, tableToIPC, vectorFromArray } from 'apache-arrow'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addIpcFile, nativeTable } from './add-ipc-file.ts'

let folder = ''
let table: Table

const file = (numbers: number[], texts: string[]): Uint8Array =>
  tableToIPC(
    new Rows({ n: vectorFromArray(Float64Array.from(numbers)), text: vectorFromArray(texts) }),
    'file',
  )

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-test-add-'))
  table = await (await connect(folder)).createTable('rows', [{ n: 1, text: 'one' }])
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const rows = async () => (await table.query().toArray()).map(({ n, text }) => [n, text])

it('adds rows by the short way, which this release of LanceDB has', async () => {
  expect(nativeTable(table)).toBeDefined()
  const bytes = file([2, 3], ['two', 'drei ü'])
  await addIpcFile(table, bytes)
  expect(await rows()).toEqual([
    [1, 'one'],
    [2, 'two'],
    [3, 'drei ü'],
  ])
})

it('adds the same by the long way', async () => {
  const hidden = new Proxy(table, {
    get: (target, name) => {
      if (name === 'inner') return undefined
      const found: unknown = Reflect.get(target, name)
      return typeof found === 'function' ? found.bind(target) : found
    },
  })
  expect(nativeTable(hidden)).toBeUndefined()
  await addIpcFile(hidden, file([4], ['four']))
  expect(await rows()).toContainEqual([4, 'four'])
})

it('says what is wrong with rows of another schema, and adds none', async () => {
  const before = await rows()
  const other = tableToIPC(new Rows({ n: vectorFromArray(['x']) }), 'file')
  await expect(addIpcFile(table, other)).rejects.toThrow()
  await expect(addIpcFile(table, Buffer.from('no Arrow at all'))).rejects.toThrow()
  expect(await rows()).toEqual(before)
})
