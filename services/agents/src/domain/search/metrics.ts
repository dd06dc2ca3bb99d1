/** What a search found, best first. */
export interface Ranked {
  readonly id: string
  /** 0 to 1. */
  readonly score: number
}

export interface RankingMetrics {
  readonly precisionAtK: number
  readonly recallAtK: number
  readonly mrr: number
  readonly ndcg: number
  readonly averageScore: number
  readonly totalResults: number
  readonly relevantResults: number
}

const discount = (rank: number): number => 1 / Math.log2(rank + 1)

/**
 * Quality of a ranking's first `k` results, as trec_eval defines P_k, recall_k, recip_rank and ndcg_cut_k with binary
 * judgements: precision is by `k`, not by what was found; the ideal ranking has min(k, relevant) hits on top.
 * @param relevant not empty
 */
export function measureRanking(
  results: readonly Ranked[],
  relevant: ReadonlySet<string>,
  k: number,
): RankingMetrics {
  const top = results.slice(0, k)
  let hits = 0
  let first = 0
  let gain = 0
  for (const [index, { id }] of top.entries()) {
    if (!relevant.has(id)) continue
    hits++
    if (first === 0) first = index + 1
    gain += discount(index + 1)
  }
  let ideal = 0
  for (let rank = 1; rank <= Math.min(k, relevant.size); rank++) ideal += discount(rank)
  return {
    precisionAtK: hits / k,
    recallAtK: hits / relevant.size,
    mrr: first === 0 ? 0 : 1 / first,
    ndcg: gain / ideal,
    averageScore: top.length === 0 ? 0 : top.reduce((sum, { score }) => sum + score, 0) / top.length,
    totalResults: top.length,
    relevantResults: hits,
  }
}
