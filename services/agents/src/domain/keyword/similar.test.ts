import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { editsBetween, expand, lettersOf, mostEdits } from './similar.ts'

const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c', 'é', '日'), maxLength: 8 })

/** One edit of any kind. */
const edited = (text: string, at: number, kind: number, letter: string): string => {
  const i = text.length === 0 ? 0 : at % text.length
  const parts = [
    text.slice(0, i) + letter + text.slice(i),
    text.slice(0, i) + text.slice(i + 1),
    text.slice(0, i) + letter + text.slice(i + 1),
    text.slice(0, i) + (text[i + 1] ?? '') + (text[i] ?? '') + text.slice(i + 2),
  ]
  return parts[kind] ?? text
}

const bits = (n: number): number => n.toString(2).replaceAll('0', '').length

describe('editsBetween', () => {
  it.each([
    ['protein', 'protien', 1],
    ['protein', 'protin', 1],
    ['protein', 'prrotein', 1],
    ['protein', 'pratein', 1],
    ['protein', 'protein', 0],
    ['protein', 'prtoien', 2],
    ['protein', 'carbon', 3],
    ['', 'ab', 2],
  ])('%s to %s is %i', (a, b, edits) => {
    expect(editsBetween(a, b, 2)).toBe(edits)
    expect(editsBetween(b, a, 2)).toBe(edits)
  })

  it('never counts one edit as more, nor lets it slip through the letters', () => {
    fc.assert(
      fc.property(word, fc.nat(), fc.nat(3), fc.constantFrom('a', 'x'), (text, at, kind, letter) => {
        const other = edited(text, at, kind, letter)
        expect(editsBetween(text, other, 2)).toBeLessThanOrEqual(1)
        expect(bits((lettersOf(text) ^ lettersOf(other)) >>> 0)).toBeLessThanOrEqual(2)
      }),
    )
  })
})

it.each([
  [1, 0],
  [2, 0],
  [3, 1],
  [5, 1],
  [6, 2],
  [40, 2],
])('words of %i characters may be %i edits away', (length, edits) => {
  expect(mostEdits(length)).toBe(edits)
})

describe('expand', () => {
  const stored = (...words: string[]) => words.map((text) => ({ word: text, stem: text }))

  it('takes only the nearest words', () => {
    expect(expand('protien', stored('protein', 'protean', 'carbon'), new Set())).toEqual({
      terms: ['protein'],
      weight: 0.9,
    })
  })

  it('shares the weight among equally near ones and takes ten at most', () => {
    const many = stored(...'bcdefghijklmno'.split('').map((letter) => `${letter}xample`))
    const found = expand('axample', many, new Set())
    expect(found?.terms).toHaveLength(10)
    expect(found?.weight).toBeCloseTo(0.9 / Math.sqrt(10))
  })

  it('leaves out the word itself and terms that the query has anyway', () => {
    expect(expand('cells', stored('cells', 'cell'), new Set(['cell']))).toBeUndefined()
  })

  it('finds nothing for words too short to be misspelt', () => {
    expect(expand('ab', stored('ac'), new Set())).toBeUndefined()
  })
})
