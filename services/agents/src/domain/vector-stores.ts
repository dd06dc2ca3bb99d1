import type { Act, AuditChange } from '@atrium/access'
import { isForeignKeyViolation } from '@atrium/kernel/db'
import { invalidInput, preconditionFailed } from '@atrium/kernel/errors'
import { isUuid, newId } from '@atrium/kernel/ids'
import type { AgentsContext } from '../context.ts'
import type { ListQuery } from '../contract/common.ts'
import type { VectorStoreChanges, VectorStoreInput } from '../contract/vector-stores.ts'
import { missed, spaceNotFound, storeNotFound } from '../errors.ts'
import type { Author, JsonObject } from '../queries/tables.ts'
import {
  insertVectorStore,
  markVectorStoreDeleting,
  readVectorStores,
  removeDeletedVectorStore,
  type StoreKey,
  selectVectorStore,
  updateVectorStoreById,
  type VectorStoreRow,
} from '../queries/vector-stores.ts'
import { audited, namesOf } from './audited.ts'
import { embeddingModelOf } from './embedding-models.ts'
import { isLanguage, LANGUAGES } from './keyword/analyse.ts'
import { demandFiniteNumbers } from './stored-json.ts'

/** A store with the number of its embeddings. */
export interface CountedStore {
  readonly row: VectorStoreRow
  readonly embeddingCount: number
}

const entryOf = ({ spaceId, vectorStoreId }: StoreKey): AuditChange => ({
  spaceId,
  resourceType: 'vectorStore',
  resourceId: vectorStoreId,
})

/** A store as the audit log shows it. */
const shown = ({ name, embedding_model, embedding_dimension, language, version }: VectorStoreRow) => ({
  name,
  embedding_model,
  embedding_dimension,
  language,
  version,
})

const DEFAULTS = { chunkSize: 1000, chunkOverlap: 200 }

const authorOf = ({ qxId, name }: Author): Author => ({ qxId, name })

/** Language of a store by its metadata; undefined when it names none. @throws AppError 400 */
function languageIn(metadata: JsonObject | undefined): string | undefined {
  const language = metadata?.language
  if (language === undefined) return undefined
  if (typeof language === 'string' && isLanguage(language)) return language
  throw invalidInput('body.metadata.language', `must be one of ${LANGUAGES.join(', ')}`)
}

function demandOverlap(chunkSize: number, chunkOverlap: number): void {
  if (chunkOverlap >= chunkSize) {
    throw invalidInput(
      'body.chunkOverlap',
      `must be less than chunkSize, but they are ${chunkOverlap} and ${chunkSize}`,
    )
  }
}

/**
 * @param act also says who makes it, where the body does not
 * @throws AppError 400, 404 when the space goes at this moment
 */
export async function createVectorStore(
  ctx: AgentsContext,
  spaceId: string,
  input: VectorStoreInput,
  act: Act,
): Promise<VectorStoreRow> {
  const { metadata = {}, chunkSize = DEFAULTS.chunkSize, createdBy = act } = input
  // An overlap that nobody named follows a small chunk size.
  const chunkOverlap = input.chunkOverlap ?? Math.min(DEFAULTS.chunkOverlap, Math.floor(chunkSize / 5))
  demandFiniteNumbers('body.metadata', metadata)
  demandOverlap(chunkSize, chunkOverlap)
  const { model, dimension } = embeddingModelOf(input.embeddingModel, input.embeddingDimension)
  const key = { spaceId, vectorStoreId: newId() }
  const store = {
    name: input.name,
    description: input.description,
    embeddingModel: model,
    embeddingDimension: dimension,
    chunkSize,
    chunkOverlap,
    createdBy: authorOf(createdBy),
    metadata,
    language: languageIn(metadata) ?? 'english',
  }
  const row = await audited(
    ctx,
    act,
    (trx) => insertVectorStore(trx, key, store),
    (after) => ({ ...entryOf(key), after: shown(after) }),
  ).catch((error: unknown) => {
    throw isForeignKeyViolation(error) ? spaceNotFound(spaceId) : error
  })
  // An insert without a conflict clause answers its row.
  if (row === undefined) throw spaceNotFound(spaceId)
  return row
}

/** @throws AppError 404 */
export async function findStore(ctx: AgentsContext, key: StoreKey): Promise<VectorStoreRow> {
  const row = isUuid(key.vectorStoreId) ? await selectVectorStore(ctx.db, key) : undefined
  if (row === undefined) throw storeNotFound(key.vectorStoreId)
  return row
}

export const keyOf = (row: VectorStoreRow): StoreKey => ({
  spaceId: row.space_id,
  vectorStoreId: row.vector_store_id,
})

/** Number of a store's embeddings, from its files. */
export async function countEmbeddings(ctx: AgentsContext, key: StoreKey): Promise<number> {
  const table = await ctx.retrieval.find(key)
  return table === undefined ? 0 : table.countRows()
}

/** @throws AppError 404 */
export async function getVectorStore(ctx: AgentsContext, key: StoreKey): Promise<CountedStore> {
  const row = await findStore(ctx, key)
  return whileThere(ctx, key, async () => ({ row, embeddingCount: await countEmbeddings(ctx, key) }))
}

/** The stores of a space with the numbers of their embeddings. */
export async function* listVectorStores(
  ctx: AgentsContext,
  spaceId: string,
  paging: ListQuery,
): AsyncGenerator<CountedStore[]> {
  for await (const rows of readVectorStores(ctx.db, spaceId, paging)) {
    const counted = rows.map(async (row): Promise<CountedStore[]> => {
      try {
        return [{ row, embeddingCount: await countEmbeddings(ctx, keyOf(row)) }]
      } catch (error) {
        // Deleted since it was read.
        if ((await selectVectorStore(ctx.db, keyOf(row))) === undefined) return []
        throw error
      }
    })
    yield (await Promise.all(counted)).flat()
  }
}

/** A language that a change brings; texts that are there were analysed in another. @throws AppError 400 */
async function newLanguage(
  ctx: AgentsContext,
  store: VectorStoreRow,
  metadata: JsonObject | undefined,
): Promise<string | undefined> {
  const language = languageIn(metadata)
  if (language === undefined || language === store.language) return undefined
  if ((await countEmbeddings(ctx, keyOf(store))) > 0) {
    throw invalidInput(
      'body.metadata.language',
      `cannot change from ${store.language} while the store holds embeddings`,
    )
  }
  return language
}

/**
 * @param act also says who changes it, where the body does not
 * @throws AppError 400, 404, 412
 */
export async function updateVectorStore(
  ctx: AgentsContext,
  key: StoreKey,
  changes: VectorStoreChanges,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<CountedStore> {
  demandFiniteNumbers('body.metadata', changes.metadata)
  const store = await findStore(ctx, key)
  const { name, description, chunkSize, chunkOverlap, metadata, updatedBy } = changes
  demandOverlap(chunkSize ?? store.chunk_size, chunkOverlap ?? store.chunk_overlap)
  const language = await whileThere(ctx, key, () => newLanguage(ctx, store, metadata))
  const fields = { name, description, chunkSize, chunkOverlap, metadata, language }
  const row = await audited(
    ctx,
    act,
    (trx) => updateVectorStoreById(trx, key, fields, authorOf(updatedBy ?? act), versions),
    (after) => ({ ...entryOf(key), after: { ...shown(after), changed: namesOf(fields) } }),
  )
  if (row !== undefined) {
    return whileThere(ctx, key, async () => ({ row, embeddingCount: await countEmbeddings(ctx, key) }))
  }
  const now = await findStore(ctx, key)
  demandOverlap(chunkSize ?? now.chunk_size, chunkOverlap ?? now.chunk_overlap)
  if (versions !== undefined) throw preconditionFailed()
  // Somebody else's sizes were in the way, and no longer are.
  return updateVectorStore(ctx, key, changes, act, versions)
}

/**
 * Deletes a store and its embeddings. Nobody sees it from the first moment on; if the process ends before its files
 * are gone, a background job ends it.
 * @throws AppError 404, 412
 */
export async function deleteVectorStore(
  ctx: AgentsContext,
  key: StoreKey,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  if (!isUuid(key.vectorStoreId)) throw storeNotFound(key.vectorStoreId)
  const deleting = await audited(
    ctx,
    act,
    (trx) => markVectorStoreDeleting(trx, key, versions),
    (before) => ({ ...entryOf(key), before: shown(before) }),
  )
  if (deleting === undefined) {
    const isThere = versions !== undefined && (await selectVectorStore(ctx.db, key)) !== undefined
    throw missed(isThere, storeNotFound(key.vectorStoreId))
  }
  await dropStore(ctx, key).catch((error: unknown) => {
    // Somebody may have written to it at this moment.
    ctx.log.warn({ err: error, vectorStoreId: key.vectorStoreId }, 'files of a deleted store remain for now')
    ctx.upkeep.sweepSoon()
  })
}

/** Second half of a deletion; may be repeated. */
export async function dropStore(ctx: AgentsContext, key: StoreKey): Promise<void> {
  // A list that is being sent is sent to its end; then the files go.
  if (await ctx.retrieval.drop(key)) await removeDeletedVectorStore(ctx.db, key)
}

/**
 * Work on a store's files, which may go at any moment with the store.
 * @throws AppError 404 when it failed and the store is gone; else what the work threw
 */
export async function whileThere<T>(ctx: AgentsContext, key: StoreKey, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if ((await selectVectorStore(ctx.db, key)) === undefined) throw storeNotFound(key.vectorStoreId)
    throw error
  }
}
