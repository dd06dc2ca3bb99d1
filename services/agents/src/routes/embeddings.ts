import type { IncomingMessage } from 'node:http'
import { actOf } from '@atrium/access'
import { type ServiceScope, streamJsonBodies } from '@atrium/kernel/http'
import Type from 'typebox'
import type { EmbeddingRow } from '../adapters/lancedb/embedding-table.ts'
import type { AgentsContext } from '../context.ts'
import { bodyErrors, errors, spaceErrors, streamed } from '../contract/common.ts'
import {
  DeletedEmbeddings,
  Embedding,
  EmbeddingDeletion,
  EmbeddingListQuery,
  EmbeddingsInput,
} from '../contract/embeddings.ts'
import { StoreParams } from '../contract/vector-stores.ts'
import { begun } from '../domain/begun.ts'
import { createEmbeddings, deleteEmbeddings, listEmbeddings } from '../domain/embeddings.ts'
import { sendArray, timestamp } from './answers.ts'
import type { AgentsGuard } from './guard.ts'

const tags = ['Embeddings']
const url = '/v1/spaces/:spaceId/vector-stores/:vectorStoreId/embeddings'

const present = (vectorStoreId: string) => (row: EmbeddingRow) => ({
  embeddingId: row.embedding_id,
  vectorStoreId,
  chunk: row.chunk,
  documentId: row.document_id,
  sequence: row.sequence,
  metadata: row.metadata === null ? {} : JSON.parse(row.metadata),
  createdAt: timestamp(new Date(row.created_at)),
})

export async function embeddingRoutes(
  scope: ServiceScope,
  ctx: AgentsContext,
  guard: AgentsGuard,
): Promise<void> {
  listAndDelete(scope, ctx, guard)
  await scope.register(async (batches: ServiceScope) => createBatch(batches, ctx, guard))
}

/** Bodies of batches are megabytes of numbers: they are read once there is room, away from the event loop. */
function createBatch(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  streamJsonBodies(scope)
  scope.route({
    method: 'POST',
    url,
    ...guard('createEmbeddings'),
    // The body is checked where it is read; its schema is for the reference.
    validatorCompiler: () => () => true,
    schema: {
      tags,
      summary: 'Store embeddings, all of a batch or none',
      params: StoreParams,
      body: Type.Unsafe<IncomingMessage | undefined>(EmbeddingsInput),
      response: { 201: Type.Unsafe<string>(Type.Array(Embedding)), ...bodyErrors, ...spaceErrors },
    },
    handler: async (request, reply) => {
      const answer = await createEmbeddings(ctx, request.params, request.body, actOf(request), timestamp)
      return reply.code(201).type('application/json; charset=utf-8').serializer(asItIs).send(answer)
    },
  })
}

const asItIs = (text: unknown): string => String(text)

function listAndDelete(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  scope.route({
    method: 'GET',
    url,
    ...guard('listEmbeddings'),
    schema: {
      tags,
      summary: 'List the embeddings of a store, without their vectors',
      params: StoreParams,
      querystring: EmbeddingListQuery,
      response: { 200: streamed(Embedding), ...errors(400, 403, 404) },
    },
    handler: async (request, reply) => {
      const rows = await begun(await listEmbeddings(ctx, request.params, request.query), async () => {})
      return reply.send(sendArray(reply, rows, present(request.params.vectorStoreId)))
    },
  })

  scope.route({
    method: 'DELETE',
    url,
    ...guard('deleteEmbeddings'),
    schema: {
      tags,
      summary: 'Delete embeddings by their ids, or all of them',
      params: StoreParams,
      body: EmbeddingDeletion,
      response: { 200: DeletedEmbeddings, ...bodyErrors, ...spaceErrors },
    },
    handler: async (request) => ({
      deleted: await deleteEmbeddings(ctx, request.params, request.body, actOf(request)),
      vectorStoreId: request.params.vectorStoreId,
    }),
  })
}
