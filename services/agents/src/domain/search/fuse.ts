/** An item that at least one of two searches found, with the scores of both. */
export interface Candidate {
  /** Its address in the table. */
  readonly address: bigint
  /** (1 + cosine) / 2. */
  readonly vector: number
  /** BM25; 0 where nothing matches. */
  readonly keyword: number
}

export interface Fused {
  readonly address: bigint
  /** 0 to 1. */
  readonly score: number
}

/** Onto 0…1; where all are equal, all are as good as the best. */
function scaleOf(least: number, greatest: number): (value: number) => number {
  const span = greatest - least
  return span > 0 ? (value) => (value - least) / span : () => (greatest > 0 ? 1 : 0)
}

/**
 * Weighted sum of two scores, each min-max normalised over all candidates; the keyword score's minimum counts as 0.
 * @param vectorWeight share of the vector score, 0 to 1
 * @returns best first; equal ones by their vector score, then by address, so that the order is always the same
 */
export function fuse(candidates: readonly Candidate[], vectorWeight: number): Fused[] {
  let least = Number.POSITIVE_INFINITY
  let greatest = 0
  let best = 0
  for (const { vector, keyword } of candidates) {
    least = Math.min(least, vector)
    greatest = Math.max(greatest, vector)
    best = Math.max(best, keyword)
  }
  const vectorScale = scaleOf(least, greatest)
  const keywordScale = scaleOf(0, best)
  return candidates
    .map(({ address, vector, keyword }) => ({
      address,
      vector,
      // Two shares can come to a little more than 1.
      score: Math.min(1, vectorWeight * vectorScale(vector) + (1 - vectorWeight) * keywordScale(keyword)),
    }))
    .sort((a, b) => b.score - a.score || b.vector - a.vector || (a.address < b.address ? -1 : 1))
    .map(({ address, score }) => ({ address, score }))
}
