import { expect, test } from 'vitest'
import { KnownWords } from './known-words.ts'

test('knows what was added, for its scope only, and forgets rather than grows', () => {
  const known = new KnownWords()
  expect(known.has('a', 'word')).toBe(false)
  known.add('a', 'word')
  expect(known.has('a', 'word')).toBe(true)
  expect(known.has('b', 'word')).toBe(false)
  expect(known.has('a', 'wore')).toBe(false)

  const words = Array.from({ length: 300_000 }, (_, i) => `w${i}`)
  expect(words.filter((word) => known.has('a', word))).toEqual([])
  for (const word of words) known.add('a', word)
  expect(known.has('a', 'w299999')).toBe(true)
  expect(words.filter((word) => known.has('a', word)).length).toBeGreaterThan(120_000)
  expect(words.filter((word) => known.has('b', word))).toEqual([])
})
