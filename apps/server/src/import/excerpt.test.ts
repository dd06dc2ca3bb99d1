import { expect, test } from 'vitest'
import { emphasize, excerptOf } from './excerpt.ts'

const mark = (text: string, query: string): string => emphasize(text, query, (word) => `*${word}*`)

test('the query’s words are marked, with other endings and accents too', () => {
  expect(mark('Aeroplanes have wings; WING design.', 'aeroplane wings')).toBe(
    '*Aeroplanes* have *wings*; *WING* design.',
  )
  expect(mark('Das Café an der Ecke', 'cafe')).toBe('Das *Café* an der Ecke')
  expect(mark('nothing here', 'a of 🦊')).toBe('nothing here')
})

test('the excerpt is where most of the words are', () => {
  const text = `${'filler words '.repeat(60)}the wings of an aeroplane ${'more filler '.repeat(60)}`
  const excerpt = excerptOf(text, 'aeroplane wings')
  expect(excerpt).toContain('the wings of an aeroplane')
  expect(excerpt.length).toBeLessThanOrEqual(242)
  expect(excerpt).toMatch(/^….*…$/)
  expect(excerptOf('short\n text', 'x')).toBe('short text')
  expect(excerptOf('x'.repeat(1000), 'y').length).toBeLessThanOrEqual(242)
})
