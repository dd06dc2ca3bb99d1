import { AppError } from '@atrium/kernel/errors'
import { parseJson } from '@atrium/kernel/json'
import {
  type Data,
  Float32,
  Float64,
  Int32,
  makeData,
  RecordBatch,
  Struct,
  Table,
  tableToIPC,
} from 'apache-arrow'
import { MAX_BATCH } from '../../domain/embeddings/limits.ts'
import { type EmbeddingBatch, readBatch } from '../../domain/embeddings/read-batch.ts'
import { splitBody } from '../../domain/embeddings/split-body.ts'
import { analyse, type JoinedWords } from '../../domain/keyword/analyse.ts'
import { metadataColumns } from '../lancedb/metadata-column.ts'
import { tableSchema, vectorType } from '../lancedb/table-fields.ts'
import { analyseChunks, textColumns } from '../lancedb/text-column.ts'
import { utf8Data } from '../lancedb/utf8-data.ts'

export interface EncodingTask {
  /** A request's body. */
  readonly body: Uint8Array
  readonly vectorStoreId: string
  readonly dimension: number
  readonly language: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** The same as answers show it. */
  readonly shownCreatedAt: string
}

export interface EncodedBatch {
  /** The rows as an Arrow IPC file. */
  readonly rows: Uint8Array
  /** For the vocabulary. */
  readonly words: JoinedWords
  readonly ids: readonly string[]
  /** Body of the answer. */
  readonly answer: string
}

/** A failure that can cross threads; they pass errors on without their class. */
export interface EncodingFailure {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly field: string | undefined
}

function toArrow(batch: EmbeddingBatch, terms: readonly string[], task: EncodingTask): Uint8Array {
  const { dimension, language, createdAt } = task
  const length = batch.ids.length
  const schema = tableSchema(dimension)
  const numbers = makeData({
    type: new Float32(),
    length: batch.vectors.length,
    nullCount: 0,
    data: batch.vectors,
  })
  const children: Data[] = [
    utf8Data(batch.ids),
    utf8Data(batch.documentIds),
    makeData({ type: new Int32(), length, nullCount: 0, data: Int32Array.from(batch.sequences) }),
    utf8Data(batch.chunks),
    makeData({ type: new Float64(), length, nullCount: 0, data: new Float64Array(length).fill(createdAt) }),
    ...metadataColumns(batch.metadata, (text) => analyse(text, language)),
    ...textColumns(terms),
    makeData({ type: vectorType(dimension), length, nullCount: 0, child: numbers }),
  ]
  const struct = makeData({ type: new Struct(schema.fields), length, nullCount: 0, children })
  return tableToIPC(new Table(new RecordBatch(schema, struct)), 'file')
}

function answerOf(batch: EmbeddingBatch, { vectorStoreId, shownCreatedAt }: EncodingTask): string {
  return JSON.stringify(
    batch.ids.map((embeddingId, index) => ({
      embeddingId,
      vectorStoreId,
      chunk: batch.chunks[index],
      documentId: batch.documentIds[index],
      sequence: batch.sequences[index],
      metadata: batch.metadata[index] ?? {},
      createdAt: shownCreatedAt,
    })),
  )
}

/** Chunks are often cut off within a character. */
const RULES = { isLenient: true }

function readBody(bytes: Buffer, dimension: number): EmbeddingBatch {
  const split = splitBody(bytes, dimension, MAX_BATCH)
  const rest = split === undefined ? undefined : parseJson(split.rest, RULES)
  // A second key of that name, which counts, is still there.
  const isAlone =
    typeof rest === 'object' && rest !== null && 'embeddings' in rest && rest.embeddings === null
  return isAlone ? readBatch(rest, dimension, split?.vectors) : readBatch(parseJson(bytes, RULES), dimension)
}

/** Reads and checks a body and makes rows of it. @throws AppError 400 */
export function encodeBatch(task: EncodingTask): EncodedBatch {
  const { buffer, byteOffset, byteLength } = task.body
  const batch = readBody(Buffer.from(buffer, byteOffset, byteLength), task.dimension)
  const { terms, words } = analyseChunks(batch.chunks, task.language)
  return { rows: toArrow(batch, terms, task), words, ids: batch.ids, answer: answerOf(batch, task) }
}

export const failureOf = ({ status, code, message, field }: AppError): EncodingFailure => ({
  status,
  code,
  message,
  field,
})

export const errorOf = ({ status, code, message, field }: EncodingFailure): AppError =>
  new AppError(status, code, message, field === undefined ? {} : { field })
