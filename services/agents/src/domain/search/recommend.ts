import type { RankingMetrics } from './metrics.ts'

/** Rankings of the same query by each strategy. */
export interface Comparison {
  readonly 'Vector Only': RankingMetrics
  readonly 'Keyword Only': RankingMetrics
  readonly Hybrid: RankingMetrics
}

const STRATEGIES = ['Vector Only', 'Keyword Only', 'Hybrid'] as const
const shown = (value: number): string => value.toFixed(3)

/** What the figures of one ranking say. */
function ofMetrics(metrics: RankingMetrics, k: number, relevant: number): string[] {
  const { relevantResults, totalResults, mrr, recallAtK } = metrics
  if (totalResults === 0) return ['Hybrid found nothing: the store is empty.']
  if (relevantResults === 0) {
    return [
      `None of the ${relevant} relevant embeddings is among the first ${totalResults}: check that relevantIds belong to this store, raise k, or look at how their documents are cut.`,
    ]
  }
  const said: string[] = []
  if (mrr < 1) {
    said.push(
      `The first relevant result has rank ${Math.round(1 / mrr)}: reranking the first ${k} could move it up.`,
    )
  }
  if (recallAtK < 1 && relevant > k) {
    said.push(
      `k is ${k} but ${relevant} embeddings are relevant: at most ${shown(k / relevant)} of them can be found.`,
    )
  } else if (recallAtK < 1) {
    said.push(
      `${relevant - relevantResults} of ${relevant} relevant embeddings are not among the first ${k}: raise k to see where they are.`,
    )
  }
  return said.length === 0
    ? [`All ${relevant} relevant embeddings were found, the first of them on top.`]
    : said
}

/** What the figures of the strategies say of each other, by nDCG. */
function ofComparison(comparison: Comparison, defaultWeight: number): string[] {
  const figures = STRATEGIES.map((name) => `${name} ${shown(comparison[name].ndcg)}`).join(', ')
  const best = STRATEGIES.reduce((a, b) => (comparison[b].ndcg > comparison[a].ndcg ? b : a))
  const top = comparison[best].ndcg
  if (top === 0) return [`No strategy found a relevant embedding (nDCG ${figures}).`]
  if (comparison.Hybrid.ndcg === top) {
    const isAlone = STRATEGIES.filter((name) => comparison[name].ndcg === top).length === 1
    return [
      isAlone
        ? `Hybrid ranks best for this query (nDCG ${figures}): keep vectorWeight near ${defaultWeight}.`
        : `No strategy ranks better than Hybrid for this query (nDCG ${figures}).`,
    ]
  }
  if (comparison['Vector Only'].ndcg === comparison['Keyword Only'].ndcg) {
    return [
      `Vector search and keyword search, each alone, rank better than Hybrid for this query (nDCG ${figures}): try a vectorWeight far from ${defaultWeight}.`,
    ]
  }
  return best === 'Vector Only'
    ? [
        `Vector search alone ranks better than Hybrid for this query (nDCG ${figures}): try a vectorWeight above ${defaultWeight}.`,
      ]
    : [
        `Keyword search alone ranks better than Hybrid for this query (nDCG ${figures}): try a vectorWeight below ${defaultWeight}.`,
      ]
}

/** Advice that follows from the figures; one query proves little, so it says what to try. */
export function recommend(
  metrics: RankingMetrics,
  comparison: Comparison | undefined,
  { k, relevant, defaultWeight }: { k: number; relevant: number; defaultWeight: number },
): string[] {
  return [
    ...(comparison === undefined ? [] : ofComparison(comparison, defaultWeight)),
    ...ofMetrics(metrics, k, relevant),
  ]
}
