import { makeVector } from 'apache-arrow'
import { describe, expect, it } from 'vitest'
import { utf8Data } from './utf8-data.ts'

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
