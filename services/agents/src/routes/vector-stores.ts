import { actOf } from '@atrium/access'
import { ifMatchVersions, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { AgentsContext } from '../context.ts'
import { bodyErrors, errors, ListQuery, SpaceParams, spaceErrors, streamed } from '../contract/common.ts'
import {
  DeletedVectorStore,
  ListedVectorStore,
  StoreParams,
  VectorStore,
  VectorStoreChanges,
  VectorStoreInput,
} from '../contract/vector-stores.ts'
import {
  type CountedStore,
  createVectorStore,
  deleteVectorStore,
  getVectorStore,
  listVectorStores,
  updateVectorStore,
} from '../domain/vector-stores.ts'
import { sendArray, timestamp } from './answers.ts'
import type { AgentsGuard } from './guard.ts'

const tags = ['Vector stores']
const path = '/v1/spaces/:spaceId/vector-stores'
const NO_FILES = { total: 0, in_progress: 0, completed: 0, failed: 0 }

const presentListed = ({ row, embeddingCount }: CountedStore): ListedVectorStore => ({
  vectorStoreId: row.vector_store_id,
  spaceId: row.space_id,
  name: row.name,
  ...(row.description === null ? {} : { description: row.description }),
  embeddingModel: row.embedding_model,
  embeddingDimension: row.embedding_dimension,
  chunkSize: row.chunk_size,
  chunkOverlap: row.chunk_overlap,
  embeddingCount,
  createdAt: timestamp(row.created_at),
  updatedAt: timestamp(row.updated_at),
  ...(row.created_by === null ? {} : { createdBy: row.created_by }),
  ...(row.updated_by === null ? {} : { updatedBy: row.updated_by }),
  metadata: row.metadata,
})

const present = (store: CountedStore) => ({ ...presentListed(store), fileCounts: NO_FILES })

export function vectorStoreRoutes(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  storeCollection(scope, ctx, guard)
  oneStore(scope, ctx, guard)
}

function storeCollection(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  scope.route({
    method: 'POST',
    url: path,
    ...guard('createVectorStore'),
    schema: {
      tags,
      summary: 'Create a vector store',
      params: SpaceParams,
      body: VectorStoreInput,
      response: { 201: withEtag(VectorStore), ...bodyErrors, ...spaceErrors },
    },
    handler: async (request, reply) => {
      const row = await createVectorStore(ctx, request.params.spaceId, request.body, actOf(request))
      setEtag(reply, row.version)
      return reply.code(201).send(present({ row, embeddingCount: 0 }))
    },
  })

  scope.route({
    method: 'GET',
    url: path,
    ...guard('listVectorStores'),
    schema: {
      tags,
      summary: 'List the vector stores of a space',
      params: SpaceParams,
      querystring: ListQuery,
      response: { 200: streamed(ListedVectorStore), ...errors(400, 403, 404) },
    },
    handler: async (request, reply) =>
      reply.send(
        sendArray(reply, listVectorStores(ctx, request.params.spaceId, request.query), presentListed),
      ),
  })
}

function oneStore(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  const url = `${path}/:vectorStoreId`
  scope.route({
    method: 'GET',
    url,
    ...guard('getVectorStore'),
    schema: {
      tags,
      summary: 'Get a vector store',
      params: StoreParams,
      response: { 200: withEtag(VectorStore), ...spaceErrors },
    },
    handler: async (request, reply) => {
      const store = await getVectorStore(ctx, request.params)
      setEtag(reply, store.row.version)
      return present(store)
    },
  })

  scope.route({
    method: 'PUT',
    url,
    ...guard('updateVectorStore'),
    schema: {
      tags,
      summary: 'Change the given fields of a vector store',
      params: StoreParams,
      body: VectorStoreChanges,
      response: { 200: withEtag(VectorStore), ...bodyErrors, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      const versions = ifMatchVersions(request)
      const store = await updateVectorStore(ctx, request.params, request.body, actOf(request), versions)
      setEtag(reply, store.row.version)
      return present(store)
    },
  })

  scope.route({
    method: 'DELETE',
    url,
    ...guard('deleteVectorStore'),
    schema: {
      tags,
      summary: 'Delete a vector store with all its embeddings',
      params: StoreParams,
      response: { 200: DeletedVectorStore, ...errors(403, 404, 412) },
    },
    handler: async (request) => {
      await deleteVectorStore(ctx, request.params, actOf(request), ifMatchVersions(request))
      return { vectorStoreId: request.params.vectorStoreId, deleted: true }
    },
  })
}
