import type { AgentsContext } from '../../context.ts'
import type { Evaluation, EvaluationInput } from '../../contract/search.ts'
import type { StoreKey } from '../../queries/vector-stores.ts'
import type { Found } from './found.ts'
import { measureRanking } from './metrics.ts'
import { recommend } from './recommend.ts'
import { DEFAULT_LIMIT, DEFAULT_VECTOR_WEIGHT, rankAll } from './search.ts'

/** How well a query finds what it should, by hybrid search and, where asked for, by the others. @throws AppError 400, 404 */
export async function evaluateSearch(
  ctx: AgentsContext,
  key: StoreKey,
  input: EvaluationInput,
): Promise<Evaluation> {
  const k = input.k ?? DEFAULT_LIMIT
  const compare = input.compareStrategies ?? true
  const relevant = new Set(input.relevantIds)
  const rankings = await rankAll(ctx, key, {
    text: input.queryText,
    vector: input.queryEmbedding,
    k,
    compare,
  })
  const measure = (found: readonly Found[]) =>
    measureRanking(
      found.map(({ row, score }) => ({ id: row.embedding_id, score })),
      relevant,
      k,
    )
  const metrics = measure(rankings.hybrid)
  const comparison = compare
    ? {
        'Vector Only': measure(rankings.vector),
        'Keyword Only': measure(rankings.keyword),
        Hybrid: metrics,
      }
    : undefined
  return {
    metrics,
    ...(comparison === undefined ? {} : { comparison }),
    recommendations: recommend(metrics, comparison, {
      k,
      relevant: relevant.size,
      defaultWeight: DEFAULT_VECTOR_WEIGHT,
    }),
  }
}
