import { OperatorError } from '@atrium/kernel/errors'
import { type PlatformClient, Refused } from '../client/platform-client.ts'
import { UsageError } from '../usage-error.ts'

/** What the commands need to know of a store. */
export interface VectorStore {
  /** Where it is, without the platform's origin. */
  readonly path: string
  readonly name: string
  readonly embeddingModel: string
  readonly embeddingDimension: number
  readonly chunkSize: number
  readonly chunkOverlap: number
}

/** What an import leaves in the metadata of each chunk, to know it again. */
export interface ImportMark {
  /** Of the text, the metadata and how they were cut and embedded. */
  readonly hash: string
  /** How many chunks the document has. */
  readonly chunks: number
  /** Which import wrote it. */
  readonly run: string
}

/** A chunk that the store holds. */
export interface StoredChunk {
  readonly embeddingId: string
  readonly documentId: string
  readonly sequence: number
  /** Undefined: something else than an import put it there. */
  readonly mark: ImportMark | undefined
}

/** A chunk on its way into the store. */
export interface NewChunk {
  readonly documentId: string
  readonly sequence: number
  readonly chunk: string
  readonly metadata: Readonly<Record<string, unknown>>
}

/** Most of one page of a list. */
const PAGE = 1000
/** Document ids are asked for in the address, whose length servers limit. */
const IDS_PER_REQUEST = 100
const ID_BYTES_PER_REQUEST = 6000
const IDS_PER_DELETE = 1000

/**
 * Looks a store up.
 * @param space undefined: the one space that the key belongs to
 * @throws UsageError when there is no such store, or the space must be named
 */
export async function openStore(
  client: PlatformClient,
  storeId: string,
  space: string | undefined,
): Promise<VectorStore> {
  const path = `/agents/v1/spaces/${encodeURIComponent(space ?? (await spaceOf(client)))}/vector-stores/${encodeURIComponent(storeId)}`
  try {
    const { body } = await client.get(path)
    const { name, embeddingModel, embeddingDimension, chunkSize, chunkOverlap } = body as VectorStore
    return { path, name, embeddingModel, embeddingDimension, chunkSize, chunkOverlap }
  } catch (error) {
    if (error instanceof Refused)
      throw new UsageError(`The store cannot be used: ${error.message}`, { cause: error })
    throw error
  }
}

async function spaceOf(client: PlatformClient): Promise<string> {
  let spaces: { spaceId: string }[]
  try {
    spaces = (await client.get('/portal/v1/spaces?limit=2&page=1')).body as { spaceId: string }[]
  } catch (error) {
    if (error instanceof Refused)
      throw new UsageError(`The key cannot be used: ${error.message}`, { cause: error })
    throw error
  }
  const [only, ...others] = spaces
  if (only === undefined || others.length > 0)
    throw new UsageError('The credential belongs to no single space: name one with --space')
  return only.spaceId
}

/** Which chunks of these documents the store holds. */
export async function listChunks(
  client: PlatformClient,
  store: VectorStore,
  documentIds: readonly string[],
): Promise<StoredChunk[]> {
  const found: StoredChunk[] = []
  for (const query of queriesFor(documentIds)) {
    for (let page = 1; ; page++) {
      const { body } = await client.get(`${store.path}/embeddings?${query}&limit=${PAGE}&page=${page}`)
      const rows = body as (Omit<StoredChunk, 'mark'> & { metadata?: { atrium?: unknown } })[]
      for (const { embeddingId, documentId, sequence, metadata } of rows)
        found.push({ embeddingId, documentId, sequence, mark: markOf(metadata?.atrium) })
      if (rows.length < PAGE) break
    }
  }
  return found
}

function* queriesFor(documentIds: readonly string[]): Generator<string> {
  let parts: string[] = []
  let bytes = 0
  for (const id of documentIds) {
    const part = `documentId=${encodeURIComponent(id)}`
    if (
      parts.length > 0 &&
      (parts.length === IDS_PER_REQUEST || bytes + part.length > ID_BYTES_PER_REQUEST)
    ) {
      yield parts.join('&')
      parts = []
      bytes = 0
    }
    parts.push(part)
    bytes += part.length + 1
  }
  if (parts.length > 0) yield parts.join('&')
}

function markOf(value: unknown): ImportMark | undefined {
  const mark = value as Partial<ImportMark> | null | undefined
  return typeof mark?.hash === 'string'
    ? { hash: mark.hash, chunks: mark.chunks ?? 0, run: mark.run ?? '' }
    : undefined
}

/** The body that stores these chunks; the numbers are text already, since writing them is most of the work. */
export function bodyOf(chunks: readonly NewChunk[], vectors: readonly string[]): string {
  const rest = JSON.stringify({
    chunks: chunks.map(({ chunk }) => chunk),
    documentIds: chunks.map(({ documentId }) => documentId),
    sequences: chunks.map(({ sequence }) => sequence),
    metadata: chunks.map(({ metadata }) => metadata),
  })
  return `{"embeddings":[${vectors.join(',')}],${rest.slice(1)}`
}

/** Removes chunks. */
export async function deleteChunks(
  client: PlatformClient,
  store: VectorStore,
  embeddingIds: readonly string[],
): Promise<void> {
  for (let i = 0; i < embeddingIds.length; i += IDS_PER_DELETE) {
    const body = JSON.stringify({ embeddingIds: embeddingIds.slice(i, i + IDS_PER_DELETE) })
    await client.delete(`${store.path}/embeddings`, body)
  }
}

/** Where the store's model makes vectors as long without being asked. */
const USUAL_DIMENSIONS: Readonly<Record<string, number>> = {
  'text-embedding-3-small': 1536,
  'text-embedding-3-large': 3072,
  'titan-text-embeddings-v2': 1024,
}

export interface Embedded {
  /** Each as JSON text of an array. */
  readonly vectors: readonly string[]
  /** Made up without a model. */
  readonly isSandbox: boolean
}

/**
 * Has the gateway embed texts with the store's model.
 * @throws Refused by the model; OperatorError when the answer does not fit the store
 */
export async function embed(
  client: PlatformClient,
  store: VectorStore,
  texts: readonly string[],
): Promise<Embedded> {
  const { embeddingModel: model, embeddingDimension: dimensions } = store
  const { headers, body } = await client.post(
    '/llm/v1/embeddings',
    JSON.stringify({
      model,
      input: texts,
      encoding_format: 'base64',
      // Some servers refuse the field, so it is sent only where it says something.
      ...(USUAL_DIMENSIONS[model] === dimensions ? {} : { dimensions }),
    }),
  )
  const { data } = body as { data: { index: number; embedding: string | number[] }[] }
  const vectors = data.toSorted((a, b) => a.index - b.index).map(({ embedding }) => numbersOf(embedding))
  const wrong = vectors.find((vector) => vector.length !== dimensions)
  if (wrong !== undefined || vectors.length !== texts.length)
    throw new OperatorError(
      `The gateway answered ${vectors.length} vectors of ${wrong?.length ?? dimensions} numbers for ${texts.length} texts, but the store needs ${dimensions} numbers`,
    )
  return {
    vectors: vectors.map((vector) => `[${vector.join(',')}]`),
    isSandbox: headers.get('x-atrium-backend') === 'sandbox',
  }
}

/** Servers that do not know base64 answer with numbers. */
function numbersOf(embedding: string | readonly number[]): ArrayLike<number> & { join(by: string): string } {
  if (typeof embedding !== 'string') return [...embedding]
  const bytes = Buffer.from(embedding, 'base64')
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4))
}
