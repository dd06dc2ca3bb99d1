import { type Selectable, sql, withoutUndefined } from '@atrium/kernel/db'
import { touched } from './changes.ts'
import { jsonb, nullableJsonb, optionalJsonb } from './json.ts'
import { type Paging, readInBatches } from './listing.ts'
import type { AgentsDb, Author, JsonObject, VectorStoresTable } from './tables.ts'

export type VectorStoreRow = Selectable<VectorStoresTable>

/** A store by its space and id; `vectorStoreId` is a UUID. */
export interface StoreKey {
  readonly spaceId: string
  readonly vectorStoreId: string
}

export interface NewVectorStore {
  readonly name: string
  readonly description: string | undefined
  readonly embeddingModel: string
  readonly embeddingDimension: number
  readonly chunkSize: number
  readonly chunkOverlap: number
  readonly createdBy: Author | undefined
  readonly metadata: JsonObject
  readonly language: string
}

/** @throws the foreign-key violation of a space that is gone */
export async function insertVectorStore(
  db: AgentsDb,
  key: StoreKey,
  store: NewVectorStore,
): Promise<VectorStoreRow> {
  return db
    .insertInto('agents.vector_stores')
    .values({
      space_id: key.spaceId,
      vector_store_id: key.vectorStoreId,
      name: store.name,
      description: store.description ?? null,
      embedding_model: store.embeddingModel,
      embedding_dimension: store.embeddingDimension,
      chunk_size: store.chunkSize,
      chunk_overlap: store.chunkOverlap,
      created_by: nullableJsonb(store.createdBy),
      updated_by: nullableJsonb<Author>(undefined),
      metadata: jsonb(store.metadata),
      language: store.language,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
}

/** A store that is not being deleted. */
export async function selectVectorStore(db: AgentsDb, key: StoreKey): Promise<VectorStoreRow | undefined> {
  return db
    .selectFrom('agents.vector_stores')
    .selectAll()
    .where('space_id', '=', key.spaceId)
    .where('vector_store_id', '=', key.vectorStoreId)
    .where('status', '=', 'active')
    .executeTakeFirst()
}

export interface VectorStoreFields {
  readonly name?: string | undefined
  readonly description?: string | undefined
  readonly chunkSize?: number | undefined
  readonly chunkOverlap?: number | undefined
  readonly metadata?: JsonObject | undefined
  readonly language?: string | undefined
}

/**
 * Changes a store unless its overlap would then reach its chunk size.
 * @returns undefined when there is no such store, none of these versions, or the sizes do not go together
 */
export async function updateVectorStoreById(
  db: AgentsDb,
  key: StoreKey,
  fields: VectorStoreFields,
  updatedBy: Author,
  versions: readonly number[] | undefined,
): Promise<VectorStoreRow | undefined> {
  const size = fields.chunkSize === undefined ? sql`chunk_size` : sql`${fields.chunkSize}::integer`
  const overlap =
    fields.chunkOverlap === undefined ? sql`chunk_overlap` : sql`${fields.chunkOverlap}::integer`
  return db
    .updateTable('agents.vector_stores')
    .set({
      ...withoutUndefined({
        name: fields.name,
        description: fields.description,
        chunk_size: fields.chunkSize,
        chunk_overlap: fields.chunkOverlap,
        metadata: optionalJsonb(fields.metadata),
        language: fields.language,
      }),
      updated_by: jsonb(updatedBy),
      ...touched(),
    })
    .where('space_id', '=', key.spaceId)
    .where('vector_store_id', '=', key.vectorStoreId)
    .where('status', '=', 'active')
    .where(sql<boolean>`${overlap} < ${size}`)
    .$if(versions !== undefined, (query) => query.where('version', 'in', versions ?? []))
    .returningAll()
    .executeTakeFirst()
}

/** Hides a store from everybody. @returns undefined when there was none of these versions */
export async function markVectorStoreDeleting(
  db: AgentsDb,
  key: StoreKey,
  versions: readonly number[] | undefined,
): Promise<VectorStoreRow | undefined> {
  return db
    .updateTable('agents.vector_stores')
    .set({ status: 'deleting', ...touched() })
    .where('space_id', '=', key.spaceId)
    .where('vector_store_id', '=', key.vectorStoreId)
    .where('status', '=', 'active')
    .$if(versions !== undefined, (query) => query.where('version', 'in', versions ?? []))
    .returningAll()
    .executeTakeFirst()
}

/**
 * Runs work while no other process does so for this store, or deletes it.
 * @returns undefined when there is no such store
 */
export async function whileStoreLocked<T>(
  db: AgentsDb,
  key: StoreKey,
  work: () => Promise<T>,
): Promise<{ readonly done: T } | undefined> {
  return db.transaction().execute(async (trx) => {
    // Leaves rows that refer to the store free to be written, as the words of its chunks are meanwhile.
    const row = await trx
      .selectFrom('agents.vector_stores')
      .select('vector_store_id')
      .where('space_id', '=', key.spaceId)
      .where('vector_store_id', '=', key.vectorStoreId)
      .where('status', '=', 'active')
      .forNoKeyUpdate()
      .executeTakeFirst()
    return row === undefined ? undefined : { done: await work() }
  })
}

/** Forgets a store whose embeddings are gone. */
export async function removeDeletedVectorStore(db: AgentsDb, key: StoreKey): Promise<void> {
  await db
    .deleteFrom('agents.vector_stores')
    .where('space_id', '=', key.spaceId)
    .where('vector_store_id', '=', key.vectorStoreId)
    .where('status', '=', 'deleting')
    .execute()
}

/** Stores whose deletion began and has not ended. */
export async function selectDeletingVectorStores(db: AgentsDb): Promise<StoreKey[]> {
  const rows = await db
    .selectFrom('agents.vector_stores')
    .select(['space_id', 'vector_store_id'])
    .where('status', '=', 'deleting')
    .execute()
  return rows.map((row) => ({ spaceId: row.space_id, vectorStoreId: row.vector_store_id }))
}

/** Those of the given stores that exist, in whatever state. */
export async function selectExistingStores(
  db: AgentsDb,
  vectorStoreIds: readonly string[],
): Promise<Set<string>> {
  if (vectorStoreIds.length === 0) return new Set()
  const rows = await db
    .selectFrom('agents.vector_stores')
    .select('vector_store_id')
    .where('vector_store_id', 'in', [...vectorStoreIds])
    .execute()
  return new Set(rows.map((row) => row.vector_store_id))
}

/** The stores of a space in creation order. */
export const readVectorStores = (
  db: AgentsDb,
  spaceId: string,
  paging: Paging,
): AsyncGenerator<VectorStoreRow[]> =>
  readInBatches<VectorStoreRow>(
    db,
    {
      table: sql`agents.vector_stores`,
      where: [sql`space_id = ${spaceId}`, sql`status = 'active'`],
      key: sql.ref('created_at'),
      id: sql.ref('vector_store_id'),
    },
    paging,
  )
