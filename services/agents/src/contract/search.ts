import { named } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { AnyObject } from './common.ts'

const QueryText = Type.String({ minLength: 1, maxLength: 10_000 })
const Limit = Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 10 }))
const Share = (description: string, fallback?: number) =>
  Type.Optional(
    Type.Number({
      minimum: 0,
      maximum: 1,
      description,
      ...(fallback === undefined ? {} : { default: fallback }),
    }),
  )

/** Its numbers are checked by `domain/embeddings/vector.ts`, which names the one that is wrong. */
const QueryEmbedding = Type.Unsafe<number[]>({
  type: 'array',
  items: {},
  description: 'As long as the store’s embeddingDimension',
})

const MetadataFilter = Type.Optional(
  Type.Unsafe<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description:
      '$eq $ne $gt $gte $lt $lte $in $nin $exists $and $or $nor $not, with a document store’s meaning; dotted paths',
    examples: [{ lang: 'en', year: { $gte: 2020 } }],
  }),
)

const IncludeEmbeddings = Type.Optional(
  Type.Boolean({ default: false, description: 'Whether results carry their `embedding`' }),
)

export const VectorSearchInput = named(
  'VectorSearch',
  Type.Object({
    queryEmbedding: QueryEmbedding,
    limit: Limit,
    metadataFilter: MetadataFilter,
    scoreThreshold: Share('Least score, which is (1 + cosine) / 2'),
    includeEmbeddings: IncludeEmbeddings,
  }),
)

export const KeywordSearchInput = named(
  'KeywordSearch',
  Type.Object({
    queryText: QueryText,
    limit: Limit,
    metadataFilter: MetadataFilter,
    fuzzy: Type.Optional(
      Type.Boolean({
        default: true,
        description: 'Whether words that the store does not hold match similar ones',
      }),
    ),
  }),
)

export const KeywordFilterSearchInput = named(
  'KeywordFilterSearch',
  Type.Object({
    keywords: Type.Array(Type.String({ minLength: 1, maxLength: 1000 }), { minItems: 1, maxItems: 10 }),
    filters: Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true }),
    limit: Limit,
    requireAllKeywords: Type.Optional(Type.Boolean({ default: false })),
  }),
)

export const HybridSearchInput = named(
  'HybridSearch',
  Type.Object({
    queryText: QueryText,
    queryEmbedding: QueryEmbedding,
    limit: Limit,
    vectorWeight: Share('Share of the vector score; the rest is the keyword score’s', 0.7),
    metadataFilter: MetadataFilter,
    scoreThreshold: Share('Least combined score'),
    includeEmbeddings: IncludeEmbeddings,
  }),
)

export const EvaluationInput = named(
  'EvaluateSearch',
  Type.Object({
    queryText: QueryText,
    queryEmbedding: QueryEmbedding,
    relevantIds: Type.Array(Type.String({ maxLength: 256 }), {
      minItems: 1,
      maxItems: 10_000,
      description: 'embeddingIds that a perfect search would find',
    }),
    k: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 10 })),
    compareStrategies: Type.Optional(Type.Boolean({ default: true })),
  }),
)

export const SearchResult = named(
  'SearchResult',
  Type.Object({
    embeddingId: Type.String(),
    score: Type.Number(),
    chunk: Type.String(),
    documentId: Type.String(),
    sequence: Type.Integer(),
    metadata: AnyObject,
    embedding: Type.Optional(Type.Array(Type.Number())),
  }),
)

export const SearchAnswer = named(
  'SearchAnswer',
  Type.Object({
    vectorStoreId: Type.String(),
    results: Type.Array(SearchResult),
  }),
)

export const Metrics = named(
  'SearchMetrics',
  Type.Object({
    precisionAtK: Type.Number(),
    recallAtK: Type.Number(),
    mrr: Type.Number(),
    ndcg: Type.Number(),
    averageScore: Type.Number(),
    totalResults: Type.Integer(),
    relevantResults: Type.Integer(),
  }),
)

export const Evaluation = named(
  'SearchEvaluation',
  Type.Object({
    metrics: Metrics,
    comparison: Type.Optional(
      Type.Object({ 'Vector Only': Metrics, 'Keyword Only': Metrics, Hybrid: Metrics }),
    ),
    recommendations: Type.Array(Type.String()),
  }),
)

export type VectorSearchInput = Static<typeof VectorSearchInput>
export type KeywordSearchInput = Static<typeof KeywordSearchInput>
export type KeywordFilterSearchInput = Static<typeof KeywordFilterSearchInput>
export type HybridSearchInput = Static<typeof HybridSearchInput>
export type EvaluationInput = Static<typeof EvaluationInput>
export type SearchResult = Static<typeof SearchResult>
export type Metrics = Static<typeof Metrics>
export type Evaluation = Static<typeof Evaluation>
