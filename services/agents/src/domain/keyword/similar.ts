/** How many edits a word of this length may be away: 0 up to 2 characters, 1 up to 5, else 2. */
export const mostEdits = (length: number): 0 | 1 | 2 => (length <= 2 ? 0 : length <= 5 ? 1 : 2)

/** A set of the word's letters in 31 bits. Words n edits apart differ in at most 2n of them. */
export function lettersOf(word: string): number {
  let letters = 0
  for (let i = 0; i < word.length; i++) letters |= 1 << (word.charCodeAt(i) % 31)
  return letters
}

/** Words are no longer than this; three rows of the table of edits are kept for all comparisons. */
const LONGEST = 128
const rows = [0, 1, 2].map(() => new Uint8Array(LONGEST + 1)) as [Uint8Array, Uint8Array, Uint8Array]

/**
 * Edits (insert, delete, substitute, transpose neighbours) between two words.
 * @returns `most + 1` when there are more than `most`
 */
export function editsBetween(a: string, b: string, most: number): number {
  if (Math.abs(a.length - b.length) > most) return most + 1
  if (Math.max(a.length, b.length) > LONGEST) return a === b ? 0 : most + 1
  let start = 0
  while (start < a.length && start < b.length && a.charCodeAt(start) === b.charCodeAt(start)) start++
  let [endA, endB] = [a.length, b.length]
  while (endA > start && endB > start && a.charCodeAt(endA - 1) === b.charCodeAt(endB - 1)) {
    endA--
    endB--
  }
  return editsOfParts(a.slice(start, endA), b.slice(start, endB), most)
}

function editsOfParts(a: string, b: string, most: number): number {
  let [before, last, row] = rows
  for (let j = 0; j <= b.length; j++) last[j] = j
  for (let i = 1; i <= a.length; i++) {
    if (fillRow(a, b, i, [before, last, row]) > most) return most + 1
    ;[before, last, row] = [last, row, before]
  }
  return Math.min(last[b.length] ?? 0, most + 1)
}

/** @returns the least of the row */
function fillRow(
  a: string,
  b: string,
  i: number,
  [before, last, row]: readonly [Uint8Array, Uint8Array, Uint8Array],
): number {
  const letter = a.charCodeAt(i - 1)
  row[0] = i
  let least = i
  for (let j = 1; j <= b.length; j++) {
    const other = b.charCodeAt(j - 1)
    let edits = at(last, j - 1) + (letter === other ? 0 : 1)
    if (at(last, j) < edits) edits = at(last, j) + 1
    if (at(row, j - 1) < edits) edits = at(row, j - 1) + 1
    if (i > 1 && j > 1 && letter === b.charCodeAt(j - 2) && a.charCodeAt(i - 2) === other) {
      edits = Math.min(edits, at(before, j - 2) + 1)
    }
    row[j] = edits
    if (edits < least) least = edits
  }
  return least
}

const at = (row: Uint8Array, index: number): number => row[index] ?? 0

export interface StoredWord {
  readonly word: string
  readonly stem: string
}

/** Terms to search for beside a query's own, each with the weight of its score against an exact match's 1. */
export interface Expansion {
  readonly terms: readonly string[]
  readonly weight: number
}

/** Terms taken for one word at most. */
const MOST_TERMS = 10

/** A similar word never counts as much as the word itself. */
const WEIGHT = 0.9

/**
 * The terms that a word may have meant: those of the stored words with the fewest edits. The more there are, the
 * less each counts, so that together they do not outweigh the query's other words.
 * @param stored words that may be near; further ones are sorted out here
 * @param taken terms that the query has already
 */
export function expand(
  word: string,
  stored: Iterable<StoredWord>,
  taken: ReadonlySet<string>,
): Expansion | undefined {
  let least: number = mostEdits(word.length)
  let nearest: StoredWord[] = []
  for (const candidate of stored) {
    if (taken.has(candidate.stem) || candidate.word === word) continue
    const edits = editsBetween(word, candidate.word, least)
    if (edits > least) continue
    if (edits < least) nearest = []
    least = edits
    nearest.push(candidate)
  }
  nearest.sort(
    (a, b) => commonPrefix(word, b.word) - commonPrefix(word, a.word) || (a.word < b.word ? -1 : 1),
  )
  const terms = [...new Set(nearest.map(({ stem }) => stem))].slice(0, MOST_TERMS)
  return terms.length === 0 ? undefined : { terms, weight: WEIGHT / Math.sqrt(terms.length) }
}

function commonPrefix(a: string, b: string): number {
  let length = 0
  while (length < a.length && a[length] === b[length]) length++
  return length
}
