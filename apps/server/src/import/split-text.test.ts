import { expect, test } from 'vitest'
import { spansOf, splitText } from './split-text.ts'

const split = (text: string, size: number, overlap: number): string[] => [...splitText(text, size, overlap)]

test('short text is one chunk, blank text none', () => {
  expect(split('Hello.', 100, 20)).toEqual(['Hello.'])
  expect(split(' \n\n ', 100, 20)).toEqual([])
  expect(split('', 100, 20)).toEqual([])
})

test('cuts fall between paragraphs, else sentences, else words', () => {
  const paragraph = 'One two three four. Five six seven.'
  expect(split(`${paragraph}\n\n${paragraph}`, 60, 0)).toEqual([paragraph, paragraph])
  expect(split('Aaaa bbbb cccc dddd. Eeee ffff gggg hhhh.', 30, 0)).toEqual([
    'Aaaa bbbb cccc dddd.',
    'Eeee ffff gggg hhhh.',
  ])
  expect(split('aaaa bbbb cccc dddd', 11, 0)).toEqual(['aaaa bbbb', 'cccc dddd'])
  expect(split('日本語の文です。次の文です。終わり。', 9, 0)).toEqual([
    '日本語の文です。',
    '次の文です。',
    '終わり。',
  ])
})

test('a chunk begins with the end of the one before, at a word', () => {
  const words = Array.from({ length: 400 }, (_, i) => `word${i}`).join(' ')
  const chunks = split(words, 200, 50)
  for (const [i, chunk] of chunks.entries()) {
    expect(chunk.length).toBeLessThanOrEqual(200)
    expect(chunk).toMatch(/^word\d+ .*word\d+$/)
    const next = chunks[i + 1]
    if (next === undefined) continue
    const shared = chunk
      .split(' ')
      .filter((word) => next.split(' ').includes(word))
      .join(' ')
    expect(shared.length).toBeGreaterThan(30)
    expect(shared.length).toBeLessThanOrEqual(50)
  }
  expect(new Set(chunks.flatMap((chunk) => chunk.split(' '))).size).toBe(400)
})

const family = '👩‍👩‍👧‍👦'
const accented = 'e\u0301'

test.each([
  ['emoji', '🦊'],
  ['families', family],
  ['combining marks', accented],
  ['flags', '🇨🇿'],
  ['spaces with marks', 'ab \u0301'],
  ['line ends', 'x\r\n'],
  ['digits', '7'],
])('%s are never cut', (_name, unit) => {
  const text = unit.repeat(700)
  const whole = [...new Intl.Segmenter().segment(text)]
  const starts = new Set(whole.map(({ index }) => index))
  for (const [size, overlap] of [
    [100, 0],
    [101, 33],
    [103, 99],
  ] as const) {
    for (const [start, end] of spansOf(text, size, overlap)) {
      expect(end - start).toBeLessThanOrEqual(size)
      expect(starts.has(start)).toBe(true)
      expect(end === text.length || starts.has(end)).toBe(true)
    }
  }
})

test('whatever the text is, every character of it is in some chunk, in order, and it ends', () => {
  let state = 7
  const random = (below: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return (state >>> 8) % below
  }
  const parts = [
    'a',
    'b. ',
    '\n\n',
    ' ',
    family,
    accented,
    '🇨🇿',
    '漢',
    '。',
    '\u0301',
    '\u200d',
    '\r\n',
    'xyz',
    '\ud800',
  ]
  for (let round = 0; round < 200; round++) {
    const text = Array.from({ length: 50 + random(400) }, () => parts[random(parts.length)])
      .join('')
      .toWellFormed()
    const size = 100 + random(60)
    const overlap = random(size)
    let covered = 0
    let last = -1
    for (const [start, end] of spansOf(text, size, overlap)) {
      expect(end - start).toBeLessThanOrEqual(size)
      expect(start).toBeGreaterThan(last)
      expect(start).toBeLessThanOrEqual(covered)
      expect(start).toBeGreaterThanOrEqual(covered - overlap)
      expect(text.slice(start, end).isWellFormed()).toBe(true)
      covered = end
      last = start
    }
    expect(covered).toBe(text.length)
  }
})
