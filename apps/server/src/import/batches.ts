import type { SourceDocument, SourceItem } from './documents.ts'

const DOCUMENTS_PER_WINDOW = 100
const CHARS_PER_WINDOW = 1_000_000
const CHUNKS_PER_BATCH = 256
/** Models take so many tokens at once (OpenAI 300,000), and a character can be more than one. */
const CHARS_PER_BATCH = 200_000

/** Documents that are looked up in the store together, and what is told about others that came with them. */
export interface Window {
  readonly documents: readonly SourceDocument[]
  readonly problems: readonly Exclude<SourceItem, SourceDocument>[]
  /** How far in the sources it reaches, in bytes. */
  readonly position: number
}

/** The items in groups of which some fit into memory. */
export async function* windowsOf(items: AsyncIterable<SourceItem>): AsyncGenerator<Window> {
  let documents: SourceDocument[] = []
  let problems: Exclude<SourceItem, SourceDocument>[] = []
  let chars = 0
  let position = 0
  const take = (): Window => {
    const window = { documents, problems, position }
    documents = []
    problems = []
    chars = 0
    return window
  }
  for await (const item of items) {
    position = item.position
    if (item.kind === 'document') {
      documents.push(item)
      chars += item.text.length
    } else problems.push(item)
    const count = documents.length + problems.length
    if (count >= DOCUMENTS_PER_WINDOW || chars >= CHARS_PER_WINDOW) yield take()
  }
  if (documents.length + problems.length > 0) yield take()
}

/** Chunks in groups that are embedded and stored together. */
export function* batchesOf<T extends { readonly chunk: string }>(chunks: Iterable<T>): Generator<T[]> {
  let batch: T[] = []
  let chars = 0
  for (const one of chunks) {
    if (
      batch.length === CHUNKS_PER_BATCH ||
      (batch.length > 0 && chars + one.chunk.length > CHARS_PER_BATCH)
    ) {
      yield batch
      batch = []
      chars = 0
    }
    batch.push(one)
    chars += one.chunk.length
  }
  if (batch.length > 0) yield batch
}
