// Clustered vectors with metadata and texts, the same on every run.

import { randomFrom } from '@atrium/testing'

export const DIMENSION = 1536
export const ROWS = Number(process.env.BENCH_ROWS ?? 50_000)
export const BATCH = 500
export const QUERIES = 200
const CLUSTERS = 200
const NOISE = 0.5

/** Nearly normal. */
function gaussian(random: () => number): number {
  let sum = 0
  for (let draw = 0; draw < 6; draw++) sum += random()
  return (sum - 3) * 1.41
}

/** `count` unit vectors around the same 200 centres whatever the seed, one after another. */
export function clusteredVectors(count: number, seed: number): Float32Array<ArrayBuffer> {
  const centre = randomFrom(7)
  const centres = Float32Array.from({ length: CLUSTERS * DIMENSION }, () => gaussian(centre))
  const random = randomFrom(seed)
  const vectors = new Float32Array(count * DIMENSION)
  for (let row = 0; row < count; row++) {
    const from = Math.floor(random() * CLUSTERS) * DIMENSION
    const vector = vectors.subarray(row * DIMENSION, (row + 1) * DIMENSION)
    let squares = 0
    for (let at = 0; at < DIMENSION; at++) {
      const value = (centres[from + at] as number) + NOISE * gaussian(random)
      vector[at] = value
      squares += value * value
    }
    const scale = 1 / Math.sqrt(squares)
    for (let at = 0; at < DIMENSION; at++) vector[at] = (vector[at] as number) * scale
  }
  return vectors
}

export interface Metadata {
  readonly row: number
  readonly half: number
  readonly twentieth: number
  readonly part: number
  readonly lang: string
  readonly tags: readonly string[]
}

const LANGUAGES = ['en', 'de', 'fr', 'it', 'es']

/** `half`, `twentieth` and `part` keep 50 %, 5 % and 0.5 % of the rows by one of their values. */
export const metadataOf = (row: number): Metadata => ({
  row,
  half: row % 2,
  twentieth: row % 20,
  part: row % 200,
  lang: LANGUAGES[row % LANGUAGES.length] ?? 'en',
  tags: [`team-${row % 7}`, `topic-${row % 13}`],
})

export interface Selection {
  readonly name: string
  readonly filter: Readonly<Record<string, number>> | undefined
  readonly keeps: (row: number) => boolean
}

export const SELECTIONS: readonly Selection[] = [
  { name: 'no filter', filter: undefined, keeps: () => true },
  { name: '50 %', filter: { half: 1 }, keeps: (row) => row % 2 === 1 },
  { name: '5 %', filter: { twentieth: 3 }, keeps: (row) => row % 20 === 3 },
  { name: '0.5 %', filter: { part: 77 }, keeps: (row) => row % 200 === 77 },
]

/** Thirty words of a vocabulary of 5,000, frequent ones more often. */
export function textOf(row: number): string {
  const random = randomFrom(row + 1)
  return Array.from({ length: 30 }, () => `word${Math.floor(5000 * random() ** 3)}`).join(' ')
}

/** The rows nearest to each query among those that a filter keeps, by plain arithmetic. */
export function nearestRows(
  vectors: Float32Array,
  query: Float32Array,
  keeps: (row: number) => boolean,
  count: number,
): number[] {
  const best: { row: number; score: number }[] = []
  for (let row = 0; row < vectors.length / DIMENSION; row++) {
    if (!keeps(row)) continue
    let score = 0
    const from = row * DIMENSION
    for (let at = 0; at < DIMENSION; at++) score += (vectors[from + at] as number) * (query[at] as number)
    if (best.length === count && score <= (best[count - 1]?.score ?? 0)) continue
    best.push({ row, score })
    best.sort((a, b) => b.score - a.score)
    if (best.length > count) best.pop()
  }
  return best.map(({ row }) => row)
}
