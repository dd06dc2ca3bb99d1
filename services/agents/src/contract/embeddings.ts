import { named } from '@atrium/kernel/http'
import Type, { type Static } from 'typebox'
import { AnyObject, type JsonObject, ListQuery, Timestamp } from './common.ts'

/** Vectors are read by `domain/embeddings/read-batch.ts`, which says more than a schema could. */
const Vectors = Type.Unsafe<number[][]>({
  type: 'array',
  items: { type: 'array', items: { type: 'number' } },
})

const perVector = (description: string) => ({ description: `${description}; one for each vector` })

export const EmbeddingsInput = named(
  'CreateEmbeddings',
  Type.Object({
    embeddings: Vectors,
    chunks: Type.Optional(Type.Array(Type.String(), perVector('Source texts'))),
    documentIds: Type.Optional(
      Type.Array(
        Type.String({ maxLength: 1024 }),
        perVector('What the chunk is a part of; by default its own id'),
      ),
    ),
    sequences: Type.Optional(
      Type.Array(
        Type.Integer({ minimum: 0, maximum: 2_147_483_647 }),
        perVector('Position of the chunk in its document; by default in the order given'),
      ),
    ),
    metadata: Type.Optional(Type.Array(AnyObject, perVector('For metadata filters'))),
  }),
)

export const Embedding = named(
  'Embedding',
  Type.Object({
    embeddingId: Type.String(),
    vectorStoreId: Type.String(),
    chunk: Type.String(),
    documentId: Type.String(),
    sequence: Type.Integer(),
    metadata: AnyObject,
    createdAt: Timestamp,
  }),
)

export const EmbeddingListQuery = Type.Object({
  ...ListQuery.properties,
  documentId: Type.Optional(
    Type.Unsafe<string | string[]>({
      anyOf: [
        { type: 'string', maxLength: 1024 },
        { type: 'array', items: { type: 'string', maxLength: 1024 }, maxItems: 100 },
      ],
      description: 'Only the chunks of these documents; may be given up to 100 times',
    }),
  ),
})

export const EmbeddingDeletion = named(
  'DeleteEmbeddings',
  Type.Object({
    embeddingIds: Type.Optional(Type.Array(Type.String({ maxLength: 256 }), { maxItems: 10_000 })),
    deleteAll: Type.Optional(Type.Boolean()),
  }),
)

export const DeletedEmbeddings = named(
  'DeletedEmbeddings',
  Type.Object({ deleted: Type.Integer(), vectorStoreId: Type.String() }),
)

export interface EmbeddingsBody {
  readonly embeddings: unknown
  readonly chunks?: readonly string[]
  readonly documentIds?: readonly string[]
  readonly sequences?: readonly number[]
  readonly metadata?: readonly JsonObject[]
}
export type EmbeddingListQuery = Static<typeof EmbeddingListQuery>
export type EmbeddingDeletion = Static<typeof EmbeddingDeletion>
