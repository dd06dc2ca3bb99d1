import { createHash } from 'node:crypto'
import type { SourceDocument } from './documents.ts'
import { splitText } from './split-text.ts'
import type { ImportMark, NewChunk, StoredChunk, VectorStore } from './vector-store.ts'

/** What has to be done so that the store holds a document exactly once. */
export interface DocumentPlan {
  readonly document: SourceDocument
  readonly mark: ImportMark
  /** Not in the store yet. */
  readonly missing: readonly NewChunk[]
  /** Chunks of an earlier text, and second copies: to be deleted once nothing is missing. */
  readonly surplus: readonly string[]
  /** Whether the store holds an earlier text of this document. */
  readonly isReplacement: boolean
  /** Why it cannot be imported, once that is known. */
  failure: string | undefined
  /** Whether something happened that may have stored a chunk twice. */
  isDoubtful: boolean
}

/** Compares a document with the chunks that the store holds of it. */
export function planDocument(
  document: SourceDocument,
  store: VectorStore,
  stored: readonly StoredChunk[],
  run: string,
): DocumentPlan {
  const chunks = [...splitText(document.text, store.chunkSize, store.chunkOverlap)]
  const mark: ImportMark = { hash: hashOf(document, store), chunks: chunks.length, run }
  const { present, surplus } = sortStored(stored, mark)
  const metadata = { ...document.metadata, atrium: mark }
  const missing = chunks.flatMap((chunk, sequence) =>
    present.has(sequence) ? [] : [{ documentId: document.id, sequence, chunk, metadata }],
  )
  return {
    document,
    mark,
    missing,
    surplus,
    isReplacement: stored.some(({ mark: found }) => found !== undefined && found.hash !== mark.hash),
    failure: undefined,
    isDoubtful: false,
  }
}

/**
 * Which sequences of the text with this mark are stored, and which chunks are too many. What something else than an
 * import stored under the same id is left alone.
 */
export function sortStored(
  stored: readonly StoredChunk[],
  mark: ImportMark,
): { present: ReadonlySet<number>; surplus: readonly string[] } {
  const present = new Set<number>()
  const surplus: string[] = []
  for (const { embeddingId, sequence, mark: found } of stored) {
    if (found === undefined) continue
    if (found.hash !== mark.hash || sequence >= mark.chunks || present.has(sequence))
      surplus.push(embeddingId)
    else present.add(sequence)
  }
  return { present, surplus }
}

/** Changes with everything that the chunks are made from. */
function hashOf({ text, metadata }: SourceDocument, store: VectorStore): string {
  const { embeddingModel, embeddingDimension, chunkSize, chunkOverlap } = store
  const made = JSON.stringify([embeddingModel, embeddingDimension, chunkSize, chunkOverlap, metadata])
  return createHash('sha256').update(made).update('\n').update(text).digest('base64url').slice(0, 22)
}
