import { isUuid } from '@atrium/kernel/ids'
import { describe, expect, it } from 'vitest'
import { readBatch } from './read-batch.ts'

const VECTORS = [
  [1, 2],
  [3, 4],
  [5, 6],
]

describe('readBatch', () => {
  it('fills in what was not given', () => {
    const batch = readBatch({ embeddings: VECTORS }, 2)
    expect([...batch.vectors]).toEqual([1, 2, 3, 4, 5, 6])
    expect(batch.ids.every(isUuid)).toBe(true)
    expect(batch.ids).toEqual(batch.ids.toSorted())
    expect(new Set(batch.ids).size).toBe(3)
    expect(batch).toMatchObject({
      chunks: ['', '', ''],
      documentIds: batch.ids,
      sequences: [0, 0, 0],
      metadata: [null, null, null],
    })
  })

  it('counts the chunks of each document', () => {
    const documentIds = ['a', '__proto__', 'a', 'b', '__proto__', 'a']
    const batch = readBatch({ embeddings: [...VECTORS, ...VECTORS], documentIds }, 2)
    expect(batch.sequences).toEqual([0, 0, 1, 0, 1, 2])
  })

  it('keeps what was given', () => {
    const given = {
      chunks: ['a', '', 'c'],
      documentIds: ['d', 'd', 'e'],
      sequences: [5, 5, 2_147_483_647],
      metadata: [{}, { a: 1 }, { b: { c: [null] } }],
    }
    expect(readBatch({ embeddings: VECTORS, ...given }, 2)).toMatchObject(given)
  })

  it('reads null for an array as its absence', () => {
    const absent = { chunks: null, documentIds: null, sequences: null, metadata: null }
    expect(readBatch({ embeddings: VECTORS, ...absent }, 2).chunks).toEqual(['', '', ''])
  })

  it('replaces halves of surrogate pairs, which are no text', () => {
    const batch = readBatch({ embeddings: [[1, 2]], chunks: ['a\ud800b'], documentIds: ['\udc00😀'] }, 2)
    expect([batch.chunks, batch.documentIds]).toEqual([['a\ufffdb'], ['\ufffd😀']])
  })

  it.each<[unknown, string]>([
    [undefined, 'body must be an object'],
    [null, 'body must be an object'],
    [[VECTORS], 'body must be an object'],
    [{}, 'body.embeddings is required'],
    [{ embeddings: 'x' }, 'body.embeddings must be an array of arrays'],
    [{ embeddings: [] }, 'at least one vector'],
    [{ embeddings: [[1, 2], [1]] }, 'body.embeddings[1] has 1 numbers'],
    [{ embeddings: Array(2049).fill([1, 2]) }, 'has 2049 vectors; at most 2048'],
    [{ embeddings: VECTORS, chunks: ['a', 'b'] }, 'body.chunks has 2 items, but body.embeddings has 3'],
    [{ embeddings: VECTORS, chunks: ['a', 'b', 3] }, 'body.chunks[2] must be a string'],
    [{ embeddings: VECTORS, chunks: { length: 3 } }, 'body.chunks must be an array'],
    [
      { embeddings: VECTORS, documentIds: ['a', '', 'b'] },
      'body.documentIds[1] must be a string of 1 to 1024',
    ],
    [{ embeddings: VECTORS, sequences: [0, 0.5, 1] }, 'body.sequences[1] must be an integer from 0'],
    [{ embeddings: VECTORS, metadata: [{}, [], {}] }, 'body.metadata[1] must be an object'],
    [
      { embeddings: VECTORS, metadata: [{}, {}, { a: { b: 1 / 0 } }] },
      'body.metadata[2].a.b is a number beyond',
    ],
  ])('refuses %j', (body, reason) => {
    expect(() => readBatch(body, 2)).toThrow(reason)
  })
})
