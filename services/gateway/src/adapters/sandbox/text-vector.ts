/** Words that nearly every text has say nearly nothing about it. */
const COMMON = new Set(
  'a about after all also an and any are as at be been but by can could did do does for from had has have he her his how i if in into is it its may more most no not of on one or other our out she so some such than that the their them then there these they this those to was we were what when where which who why will with would you your'.split(
    ' ',
  ),
)
const COMMON_WEIGHT = 0.05
/** All parts of a word together, beside the word itself. */
const PARTS_WEIGHT = 0.8
const PART_CHARS = 4
/** Longer "words" are data; their beginning tells them apart. */
const MAX_WORD_CHARS = 40

const WORD = /[\p{L}\p{N}]+/gu
const MARKS = /\p{M}/gu
/** Scripts that are written without spaces: each pair of characters counts as a word. */
const UNSPACED = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u

/** 32-bit FNV-1a with a last mixing, for its low bits choose the place. */
function hashOf(text: string, seed: number): number {
  let hash = (2_166_136_261 ^ seed) >>> 0
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619)
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d)
  hash = Math.imul(hash ^ (hash >>> 12), 0x297a2d39)
  return (hash ^ (hash >>> 15)) >>> 0
}

/** Adds a feature at two places, so that two features seldom fall together wholly. */
function add(vector: Float64Array, feature: string, weight: number): void {
  for (const seed of [0, 0x9e3779b9]) {
    const hash = hashOf(feature, seed)
    const place = (hash >>> 1) % vector.length
    vector[place] = (vector[place] ?? 0) + ((hash & 1) === 0 ? weight : -weight)
  }
}

/** English endings that turn up or go without a change of the subject. */
function stemOf(word: string): string {
  if (word.length < 5) return word
  const stem = word
    .replace(/(?<=.{3})(?:ies|ied)$/, 'y')
    .replace(/(?<=.{3})(?:ations?|ating|ated|ates)$/, 'ate')
    .replace(/(?<=.{3})(?:ings?|edly|ed|ely|ly|ness|es|s)$/, '')
  return stem.replace(/e$/, '').replace(/(?<=.{2})([^aeiouls])\1$/, '$1')
}

/** What the text is made of, and how often each part of it occurs. */
function wordsOf(text: string): Map<string, number> {
  const words = new Map<string, number>()
  const note = (word: string): void => void words.set(word, (words.get(word) ?? 0) + 1)
  const folded = text.normalize('NFKD').replace(MARKS, '').toLowerCase()
  for (const [word] of folded.matchAll(WORD)) {
    if (!UNSPACED.test(word)) note(word.slice(0, MAX_WORD_CHARS))
    else {
      const characters = [...word]
      if (characters.length === 1) note(word)
      for (let i = 1; i < characters.length; i++) note(`${characters[i - 1]}${characters[i]}`)
    }
  }
  return words
}

function addWord(vector: Float64Array, word: string, count: number): void {
  // Each time more counts less than the time before.
  const weight = (1 + Math.log(count)) * (COMMON.has(word) ? COMMON_WEIGHT : 1)
  const stem = stemOf(word)
  add(vector, stem, weight)
  const parts = stem.length - PART_CHARS + 1
  for (let i = 0; i < parts; i++)
    add(vector, `#${stem.slice(i, i + PART_CHARS)}`, (weight * PARTS_WEIGHT) / Math.sqrt(parts))
}

/**
 * A vector of length 1 for a text, made by hashing its words and their parts: texts that share words, or words that
 * are alike, are near to each other. No model, but good enough to try retrieval out. Always the same for the same text.
 */
export function vectorOf(text: string, dimensions: number): Float32Array {
  const vector = new Float64Array(dimensions)
  for (const [word, count] of wordsOf(text)) addWord(vector, word, count)
  let norm = normOf(vector)
  if (norm === 0) {
    // Punctuation alone, say: any direction will do, but a zero vector has none.
    vector[hashOf(text, 0) % dimensions] = 1
    norm = 1
  }
  return Float32Array.from(vector, (value) => value / norm)
}

function normOf(vector: Float64Array): number {
  let sum = 0
  for (const value of vector) sum += value * value
  return Math.sqrt(sum)
}
