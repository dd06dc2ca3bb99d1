import type { IncomingMessage } from 'node:http'
import { availableParallelism } from 'node:os'
import type { Act, AuditChange } from '@atrium/access'
import { AppError, invalidInput } from '@atrium/kernel/errors'
import { readBody } from '@atrium/kernel/http'
import { isUuid } from '@atrium/kernel/ids'
import { pageRequest } from '@atrium/kernel/lists'
import type { EncodedBatch } from '../adapters/encoding/encode-batch.ts'
import {
  addRows,
  deleteRows,
  documentIdIn,
  type EmbeddingRow,
  embeddingIdIn,
} from '../adapters/lancedb/embedding-table.ts'
import { readRows } from '../adapters/lancedb/read-rows.ts'
import type { Alone } from '../adapters/lancedb/retrieval.ts'
import type { AgentsContext } from '../context.ts'
import type { EmbeddingDeletion, EmbeddingListQuery } from '../contract/embeddings.ts'
import { storeNotFound } from '../errors.ts'
import { noteWrite } from '../queries/upkeep.ts'
import { type StoreKey, type VectorStoreRow, whileStoreLocked } from '../queries/vector-stores.ts'
import { audited } from './audited.ts'
import { begun } from './begun.ts'
import { MAX_BATCH_BYTES } from './embeddings/limits.ts'
import { findStore, whileThere } from './vector-stores.ts'

/**
 * Stores a batch, whole or not at all.
 * @param body JSON, not yet read; undefined where there is none
 * @param shownAt how answers show a time
 * @returns the answer's body, JSON as well
 * @throws AppError 400, 404
 */
export async function createEmbeddings(
  ctx: AgentsContext,
  key: StoreKey,
  body: IncomingMessage | undefined,
  act: Act,
  shownAt: (time: Date) => string,
): Promise<string> {
  const store = await findStore(ctx, key)
  return ctx.uploads.run(key.spaceId, async () => {
    const batch = await readAndEncode(ctx, store, body, shownAt)
    if (ctx.upkeep.isSearched(key)) {
      const load = Math.max(1, ctx.searches.length / availableParallelism())
      await ctx.ingestRate.wait(key.vectorStoreId, load * batch.ids.length * store.embedding_dimension)
    }
    return whileThere(ctx, key, async () => {
      // Words first: one too many costs a little, one too few would make a search miss rows.
      await ctx.vocabulary.note(key, batch.words)
      const table = await ctx.retrieval.findOrCreate(key, store.embedding_dimension, aloneWith(ctx, key))
      await addRows(table, batch.rows)
      await noted(ctx, key, act, { stored: batch.ids.length })
      return batch.answer
    })
  })
}

/** @throws AppError 400, 413 */
async function readAndEncode(
  { encoder }: AgentsContext,
  store: VectorStoreRow,
  unread: IncomingMessage | undefined,
  shownAt: (time: Date) => string,
): Promise<EncodedBatch> {
  const body = unread && (await readBody(unread, MAX_BATCH_BYTES, encoder.memory))
  if (body === undefined) throw invalidInput('body', 'must be an object')
  const now = new Date()
  try {
    return await encoder.encode({
      body,
      vectorStoreId: store.vector_store_id,
      dimension: store.embedding_dimension,
      language: store.language,
      createdAt: now.getTime(),
      shownCreatedAt: shownAt(now),
    })
  } finally {
    encoder.memory.giveBack(body)
  }
}

const aloneWith =
  (ctx: AgentsContext, key: StoreKey): Alone =>
  async (work) => {
    const outcome = await whileStoreLocked(ctx.db, key, work)
    if (outcome === undefined) throw storeNotFound(key.vectorStoreId)
    return outcome.done
  }

/** Tells whoever looks after the files, and the audit log. @throws AppError 404 when the store went meanwhile */
async function noted(
  ctx: AgentsContext,
  key: StoreKey,
  act: Act,
  counts: { readonly stored?: number; readonly deleted?: number },
): Promise<void> {
  const written = await audited(
    ctx,
    act,
    (trx) => noteWrite(trx, key, counts.deleted),
    () => ({ ...entryOf(key), after: counts }),
  )
  if (written === undefined) {
    // The write may have come after the files were deleted, and have made some anew.
    ctx.upkeep.sweepSoon()
    throw storeNotFound(key.vectorStoreId)
  }
  ctx.upkeep.noteWrite(key, written)
}

const entryOf = ({ spaceId, vectorStoreId }: StoreKey): AuditChange => ({
  spaceId,
  resourceType: 'embeddings',
  resourceId: vectorStoreId,
})

const asArray = <T>(value: T | readonly T[]): readonly T[] => (Array.isArray(value) ? value : [value as T])

/** A store's embeddings in the order of their creation, or those of some documents. @throws AppError 400, 404 */
export async function listEmbeddings(
  ctx: AgentsContext,
  key: StoreKey,
  query: EmbeddingListQuery,
): Promise<AsyncGenerator<EmbeddingRow[]>> {
  const documents = query.documentId === undefined ? undefined : asArray(query.documentId)
  if (documents?.some((id) => id.includes('\0'))) {
    throw invalidInput('query.documentId', 'must not contain the NUL character (U+0000)')
  }
  await findStore(ctx, key)
  const { limit, offset } = pageRequest(query)
  return whileThere(ctx, key, async () => {
    const table = await ctx.retrieval.find(key)
    if (table === undefined || documents?.length === 0) return none()
    const where = documents === undefined ? undefined : documentIdIn(documents)
    return begun(held(ctx, key, readRows(table, { where, limit, offset })))
  })
}

/** Rows of a store whose files stay until the last one, also when it is deleted meanwhile. */
async function* held(
  ctx: AgentsContext,
  key: StoreKey,
  rows: AsyncIterable<EmbeddingRow[]>,
): AsyncGenerator<EmbeddingRow[]> {
  const release = ctx.retrieval.hold(key)
  try {
    yield* rows
  } finally {
    if (release()) ctx.upkeep.sweepSoon()
  }
}

async function* none(): AsyncGenerator<EmbeddingRow[]> {}

/**
 * Deletes some or all embeddings.
 * @returns how many there were of them
 * @throws AppError 400, 404
 */
export async function deleteEmbeddings(
  ctx: AgentsContext,
  key: StoreKey,
  { embeddingIds, deleteAll }: EmbeddingDeletion,
  act: Act,
): Promise<number> {
  const isAll = deleteAll === true
  if (!isAll && (embeddingIds === undefined || embeddingIds.length === 0)) {
    throw new AppError(400, 'nothing_to_delete', 'body must have embeddingIds, or deleteAll: true', {
      field: 'body',
    })
  }
  await findStore(ctx, key)
  // Ids of another form are none of ours, and none of them reaches the engine.
  const ids = [...new Set(embeddingIds)].filter((id) => isUuid(id)).map((id) => id.toLowerCase())
  return whileThere(ctx, key, async () => {
    const table = await ctx.retrieval.find(key)
    if (table === undefined || (!isAll && ids.length === 0)) return 0
    const deleted = await deleteRows(table, isAll ? 'true' : embeddingIdIn(ids))
    if (deleted > 0) await noted(ctx, key, act, { deleted })
    return deleted
  })
}
