import { mkdtemp, readdir, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { connect } from '@lancedb/lancedb'
import { Field, makeVector, Schema, Utf8 } from 'apache-arrow'
import { describe, expect, it } from 'vitest'
import { utf8Data, utf8Field } from './utf8-data.ts'

describe('utf8Data', () => {
  it.each([
    ['ASCII', ['', 'a', 'bc', ''], undefined],
    ['any text', ['é', '', '😀', '\u0000', 'a'], undefined],
    ['nulls', [null, 'a', null, 'é', null, 'b', 'c', 'd', 'e', null], undefined],
    ['nothing', [], undefined],
    ['nulls alone', [null, null], undefined],
    // The two halves belong to two texts and make no character together.
    ['lone surrogates', ['\ud83d', '\ude00'], ['\ufffd', '\ufffd']],
  ])('keeps %s', (_name, texts, shown) => {
    expect([...makeVector(utf8Data(texts))]).toEqual(shown ?? texts)
  })
})

it('makes fields that LanceDB keeps uncompressed, which it does not with others', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'atrium-test-utf8-'))
  const rows = Array.from({ length: 2000 }, (_, row) => ({ text: `the same words in row ${row}` }))
  const db = await connect(folder)
  const sizeWith = async (name: string, field: Field) => {
    const table = await db.createEmptyTable(name, new Schema([field]))
    await table.add(rows)
    const data = path.join(folder, `${name}.lance`, 'data')
    const files = await readdir(data)
    return (await Promise.all(files.map((file) => stat(path.join(data, file))))).reduce(
      (n, { size }) => n + size,
      0,
    )
  }
  const length = rows.reduce((sum, { text }) => sum + text.length, 0)
  expect(await sizeWith('plain', utf8Field('text', false))).toBeGreaterThan(length)
  expect(await sizeWith('other', new Field('text', new Utf8(), false))).toBeLessThan(length)
  await rm(folder, { recursive: true, force: true })
})
