import { named, requiredText } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { AnyObject, Author, Timestamp } from './common.ts'

const settings = {
  description: Type.Optional(Type.String({ maxLength: 1024 })),
  chunkSize: Type.Optional(
    Type.Integer({ minimum: 100, maximum: 4096, description: 'Characters; for chunks made from now on' }),
  ),
  chunkOverlap: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 1000, description: 'Characters; less than chunkSize' }),
  ),
  metadata: Type.Optional(AnyObject),
}

export const StoreParams = Type.Object({ spaceId: Type.String(), vectorStoreId: Type.String() })

export const VectorStoreInput = named(
  'CreateVectorStore',
  Type.Object({
    name: requiredText(256),
    ...settings,
    embeddingModel: Type.Optional(Type.String({ maxLength: 256, default: 'text-embedding-3-small' })),
    embeddingDimension: Type.Optional(
      Type.Integer({ description: 'By default that of the model: 1024, 1536 or 3072' }),
    ),
    createdBy: Type.Optional(Author),
  }),
)

export const VectorStoreChanges = named(
  'UpdateVectorStore',
  Type.Object({
    name: Type.Optional(requiredText(256)),
    ...settings,
    updatedBy: Type.Optional(Author),
  }),
)

/** The service's stores hold embeddings that clients bring, so no file is ever under way in them. */
export const FileCounts = named(
  'FileCounts',
  Type.Object({
    total: Type.Integer(),
    in_progress: Type.Integer(),
    completed: Type.Integer(),
    failed: Type.Integer(),
  }),
)

export const ListedVectorStore = named(
  'VectorStoreSummary',
  Type.Object({
    vectorStoreId: Type.String(),
    spaceId: Type.String(),
    name: Type.String(),
    description: Type.Optional(Type.String()),
    embeddingModel: Type.String(),
    embeddingDimension: Type.Integer(),
    chunkSize: Type.Integer(),
    chunkOverlap: Type.Integer(),
    embeddingCount: Type.Integer(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
    createdBy: Type.Optional(Author),
    updatedBy: Type.Optional(Author),
    metadata: AnyObject,
  }),
)

export const VectorStore = named(
  'VectorStore',
  Type.Object({ ...ListedVectorStore.properties, fileCounts: FileCounts }),
)

export const DeletedVectorStore = named(
  'DeletedVectorStore',
  Type.Object({ vectorStoreId: Type.String(), deleted: Type.Boolean() }),
)

export type VectorStoreInput = Static<typeof VectorStoreInput>
export type VectorStoreChanges = Static<typeof VectorStoreChanges>
export type ListedVectorStore = Static<typeof ListedVectorStore>
