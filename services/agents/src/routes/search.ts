import type { ServiceScope } from '@atrium/kernel/http'
import type { TSchema } from 'typebox'
import type { AgentsContext } from '../context.ts'
import { bodyErrors, spaceErrors } from '../contract/common.ts'
import {
  Evaluation,
  EvaluationInput,
  HybridSearchInput,
  KeywordFilterSearchInput,
  KeywordSearchInput,
  SearchAnswer,
  type SearchResult,
  VectorSearchInput,
} from '../contract/search.ts'
import { StoreParams } from '../contract/vector-stores.ts'
import { evaluateSearch } from '../domain/search/evaluate.ts'
import type { Found } from '../domain/search/found.ts'
import { hybridSearch, keywordFilterSearch, keywordSearch, vectorSearch } from '../domain/search/search.ts'
import type { AgentsGuard } from './guard.ts'

const tags = ['Search']
const store = '/v1/spaces/:spaceId/vector-stores/:vectorStoreId'

const present = ({ row, score, vector }: Found): SearchResult => ({
  embeddingId: row.embedding_id,
  score,
  chunk: row.chunk,
  documentId: row.document_id,
  sequence: row.sequence,
  metadata: row.metadata === null ? {} : JSON.parse(row.metadata),
  ...(vector === undefined ? {} : { embedding: Array.from(vector) }),
})

const answerOf = (vectorStoreId: string, found: readonly Found[]) => ({
  vectorStoreId,
  results: found.map(present),
})

const described = <B extends TSchema, R extends TSchema>(summary: string, body: B, answer: R) => ({
  tags,
  summary,
  params: StoreParams,
  body,
  response: { 200: answer, ...bodyErrors, ...spaceErrors },
})

export function searchRoutes(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  scope.route({
    method: 'POST',
    url: `${store}/search`,
    ...guard('vectorSearch'),
    schema: described('Search by vector', VectorSearchInput, SearchAnswer),
    handler: async ({ params, body }) =>
      answerOf(params.vectorStoreId, await vectorSearch(ctx, params, body)),
  })

  scope.route({
    method: 'POST',
    url: `${store}/keyword-search`,
    ...guard('keywordSearch'),
    schema: described('Search by the words of a text', KeywordSearchInput, SearchAnswer),
    handler: async ({ params, body }) =>
      answerOf(params.vectorStoreId, await keywordSearch(ctx, params, body)),
  })

  scope.route({
    method: 'POST',
    url: `${store}/keyword-filter-search`,
    ...guard('keywordFilterSearch'),
    schema: described('Search by keywords and strict filters', KeywordFilterSearchInput, SearchAnswer),
    handler: async ({ params, body }) =>
      answerOf(params.vectorStoreId, await keywordFilterSearch(ctx, params, body)),
  })

  scope.route({
    method: 'POST',
    url: `${store}/hybrid-search`,
    ...guard('hybridSearch'),
    schema: described('Search by vector and words together', HybridSearchInput, SearchAnswer),
    handler: async ({ params, body }) =>
      answerOf(params.vectorStoreId, await hybridSearch(ctx, params, body)),
  })

  scope.route({
    method: 'POST',
    url: `${store}/evaluate`,
    ...guard('evaluateSearch'),
    schema: described('Measure how well a query finds what it should', EvaluationInput, Evaluation),
    handler: ({ params, body }) => evaluateSearch(ctx, params, body),
  })
}
