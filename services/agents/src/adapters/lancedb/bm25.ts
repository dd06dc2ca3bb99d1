/** LanceDB's constants, which are Lucene's. */
const K1 = 1.2
const B = 0.75

/** How often a row of so many terms holds a term, and the row's score in a search for the term alone. */
export interface ScoredOccurrence {
  readonly times: number
  readonly length: number
  readonly score: number
}

/** What a term weighs that so many of the rows hold. */
export const inverseFrequency = (rows: number, holding: number): number =>
  Math.log(1 + (rows - holding + 0.5) / (holding + 0.5))

/** What an occurrence counts for, below K1 + 1: its score is this times the term's inverse frequency. */
export const saturation = (times: number, length: number, meanLength: number): number =>
  (times * (K1 + 1)) / (times + K1 * (1 - B + (B * length) / meanLength))

/** Scores are 32-bit floats: rows that differ by less than this share tell the mean length too inexactly. */
const LEAST_DIFFERENCE = 0.01

/**
 * The mean length of all rows, from two rows' scores for one term: it is the only number that explains both.
 * @returns undefined when the rows are too much alike to tell
 */
export function meanLengthFrom(a: ScoredOccurrence, b: ScoredOccurrence): number | undefined {
  const ofA = (a.score * a.length) / a.times
  const ofB = (b.score * b.length) / b.times
  if (Math.abs(ofA - ofB) < LEAST_DIFFERENCE * Math.max(ofA, ofB)) return undefined
  const rest = ({ score, times }: ScoredOccurrence): number => score * (1 + (K1 * (1 - B)) / times)
  const mean = (K1 * B * (ofA - ofB)) / (rest(b) - rest(a))
  return Number.isFinite(mean) && mean > 0 ? mean : undefined
}
