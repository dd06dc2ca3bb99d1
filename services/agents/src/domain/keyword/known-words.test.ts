import { expect, test } from 'vitest'
import { KnownWords } from './known-words.ts'

test('knows what was added, for its scope only, and forgets rather than grows', () => {
  const known = new KnownWords()
  const a = known.of('a')
  const b = known.of('b')
  expect(a.has('word')).toBe(false)
  a.add('word')
  expect(a.has('word')).toBe(true)
  expect(known.of('a').has('word')).toBe(true)
  expect(b.has('word')).toBe(false)
  expect(a.has('wore')).toBe(false)

  const some = Array.from({ length: 10_000 }, (_, i) => `some${i}`)
  for (const word of some) a.add(word)
  expect(some.filter((word) => !a.has(word))).toEqual([])

  const words = Array.from({ length: 300_000 }, (_, i) => `w${i}`)
  expect(words.filter((word) => a.has(word))).toEqual([])
  for (const word of words) a.add(word)
  expect(a.has('w299999')).toBe(true)
  expect(words.filter((word) => a.has(word)).length).toBeGreaterThan(120_000)
  expect(words.filter((word) => b.has(word))).toEqual([])
})
