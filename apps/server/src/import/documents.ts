/** One document to be imported. */
export interface SourceDocument {
  readonly kind: 'document'
  readonly id: string
  /** Title and text, without characters that no store can hold. */
  readonly text: string
  readonly metadata: Readonly<Record<string, unknown>>
  /** Where it came from, for people: a file, with the line in it. */
  readonly origin: string
  /** How far in all sources one is after it, in bytes. */
  readonly position: number
}

/** Something that cannot be imported (`bad`), or is none of our business (`skipped`). */
export interface SourceProblem {
  readonly kind: 'bad' | 'skipped'
  readonly origin: string
  readonly reason: string
  readonly position: number
}

export type SourceItem = SourceDocument | SourceProblem

/** Larger files and rows are refused: a document is held in memory. */
export const MAX_DOCUMENT_BYTES = 64 * 1024 * 1024
const MAX_ID_CHARS = 1024

/** A row or file as a document. */
export function documentOf(
  fields: { id: string; title?: string; text: string; metadata?: Record<string, unknown> },
  place: { origin: string; position: number },
): SourceItem {
  const id = clean(fields.id)
  if (id === '') return { kind: 'bad', reason: 'its id is empty', ...place }
  if (id.length > MAX_ID_CHARS)
    return { kind: 'bad', reason: `its id is longer than ${MAX_ID_CHARS} characters`, ...place }
  const text = clean(fields.text)
  const title = fields.title === undefined ? '' : clean(fields.title)
  return {
    kind: 'document',
    id,
    text: title === '' ? text : `${title}\n${text}`,
    metadata: fields.metadata ?? {},
    ...place,
  }
}

/** Neither a store nor JSON can hold U+0000 or half a surrogate pair. */
const clean = (text: string): string => text.replaceAll('\0', '').toWellFormed()
