import { AppError, invalidInput } from '@atrium/kernel/errors'
import { newId } from '@atrium/kernel/ids'
import { demandFiniteNumbers } from '../stored-json.ts'
import type { FloatRows } from './float-rows.ts'
import { MAX_BATCH } from './limits.ts'
import { demandDirection, readVector } from './vector.ts'

type JsonObject = Record<string, unknown>

/** Embeddings to be stored, one array a field. */
export interface EmbeddingBatch {
  readonly ids: readonly string[]
  readonly chunks: readonly string[]
  readonly documentIds: readonly string[]
  readonly sequences: readonly number[]
  readonly metadata: readonly (JsonObject | null)[]
  /** All vectors after one another. */
  readonly vectors: Float32Array<ArrayBuffer>
}

const MAX_DOCUMENT_ID = 1024
const MAX_SEQUENCE = 2_147_483_647

const isObject = (value: unknown): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * An optional array that goes beside the vectors.
 * @param isRight whether an item is right; `reason` says what it must be
 */
function parallelArray<T>(
  body: JsonObject,
  name: string,
  count: number,
  isRight: (item: unknown) => item is T,
  reason: string,
): readonly T[] | undefined {
  const given = body[name]
  if (given === undefined || given === null) return undefined
  const path = `body.${name}`
  if (!Array.isArray(given)) throw invalidInput(path, 'must be an array')
  if (given.length !== count) {
    throw new AppError(
      400,
      'unequal_array_lengths',
      `${path} has ${given.length} items, but body.embeddings has ${count}`,
      { field: path },
    )
  }
  const wrong = given.findIndex((item) => !isRight(item))
  if (wrong >= 0) throw invalidInput(`${path}[${wrong}]`, reason)
  return given
}

function readVectors(given: unknown, dimension: number): Float32Array<ArrayBuffer> {
  if (!Array.isArray(given)) {
    throw invalidInput(
      'body.embeddings',
      given === undefined ? 'is required' : 'must be an array of arrays of numbers',
    )
  }
  if (given.length === 0) throw invalidInput('body.embeddings', 'must have at least one vector')
  if (given.length > MAX_BATCH) {
    throw invalidInput(
      'body.embeddings',
      `has ${given.length} vectors; at most ${MAX_BATCH} are taken at once`,
    )
  }
  const vectors = new Float32Array(given.length * dimension)
  for (const [index, vector] of given.entries()) {
    const into = vectors.subarray(index * dimension, (index + 1) * dimension)
    readVector(`body.embeddings[${index}]`, vector, into)
  }
  return vectors
}

/** @throws AppError 400 naming the first vector without a direction */
function demandDirections(vectors: Float32Array, dimension: number): void {
  for (let index = 0; index * dimension < vectors.length; index++) {
    const vector = vectors.subarray(index * dimension, (index + 1) * dimension)
    demandDirection(`body.embeddings[${index}]`, vector)
  }
}

/** Positions as the chunks of each document come. */
function countedSequences(documentIds: readonly string[]): number[] {
  const next = new Map<string, number>()
  return documentIds.map((id) => {
    const position = next.get(id) ?? 0
    next.set(id, position + 1)
    return position
  })
}

/**
 * Checks the body of a batch. A chunk without a documentId is a document of its own.
 * @param read the vectors, where they have been taken out of the body
 * @throws AppError 400 naming the field, and the item in it
 */
export function readBatch(body: unknown, dimension: number, read?: FloatRows): EmbeddingBatch {
  if (!isObject(body)) throw invalidInput('body', 'must be an object')
  const vectors = read?.values ?? readVectors(body.embeddings, dimension)
  if (read !== undefined) demandDirections(read.values, dimension)
  const count = vectors.length / dimension
  const isText = (item: unknown): item is string => typeof item === 'string'
  const isDocumentId = (item: unknown): item is string =>
    typeof item === 'string' && item.length > 0 && item.length <= MAX_DOCUMENT_ID
  const isPosition = (item: unknown): item is number =>
    Number.isInteger(item) && (item as number) >= 0 && (item as number) <= MAX_SEQUENCE
  const chunks = parallelArray(body, 'chunks', count, isText, 'must be a string')
  const named = parallelArray(
    body,
    'documentIds',
    count,
    isDocumentId,
    `must be a string of 1 to ${MAX_DOCUMENT_ID} characters`,
  )
  const sequences = parallelArray(
    body,
    'sequences',
    count,
    isPosition,
    `must be an integer from 0 to ${MAX_SEQUENCE}`,
  )
  const metadata = parallelArray(body, 'metadata', count, isObject, 'must be an object')
  if (metadata !== undefined) demandFiniteNumbers('body.metadata', metadata)
  const ids = Array.from({ length: count }, newId)
  // Halves of surrogate pairs have no UTF-8: answers show at once what is stored.
  const documentIds = named?.map((id) => id.toWellFormed()) ?? ids
  return {
    ids,
    chunks: chunks?.map((chunk) => chunk.toWellFormed()) ?? Array.from({ length: count }, () => ''),
    documentIds,
    sequences: sequences ?? countedSequences(documentIds),
    metadata: metadata ?? Array.from({ length: count }, () => null),
    vectors,
  }
}
