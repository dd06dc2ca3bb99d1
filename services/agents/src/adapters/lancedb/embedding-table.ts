import type { Table } from '@lancedb/lancedb'
import type { RecordBatch } from 'apache-arrow'
import { TERMS } from './text-column.ts'
import { addInTurn, writeInTurn } from './write-queue.ts'

/** An embedding as it is shown; `metadata` is the text of a JSON object, or null. */
export interface EmbeddingRow {
  readonly embedding_id: string
  readonly document_id: string
  readonly sequence: number
  readonly chunk: string
  readonly metadata: string | null
  /** Milliseconds since 1970. */
  readonly created_at: number
}

/** A string as SQL writes it. LanceDB's SQL knows no other escape than the doubled quote. */
export const sqlString = (text: string): string => `'${text.replaceAll("'", "''")}'`

const sqlStrings = (texts: readonly string[]): string => texts.map(sqlString).join(', ')

export const embeddingIdIn = (ids: readonly string[]): string => `embedding_id IN (${sqlStrings(ids)})`
export const documentIdIn = (ids: readonly string[]): string => `document_id IN (${sqlStrings(ids)})`

/** Rows of a batch as plain objects of the given columns. */
export function rowsOf<Row extends object>(batch: RecordBatch, columns: readonly string[]): Row[] {
  const vectors = columns.map((name) => batch.getChild(name))
  return Array.from(
    { length: batch.numRows },
    (_, index) => Object.fromEntries(columns.map((name, at) => [name, vectors[at]?.get(index)])) as Row,
  )
}

/** Adds a batch of rows, an Arrow IPC file in the table's schema: all of them or none. */
export const addRows = (table: Table, rows: Uint8Array): Promise<void> => addInTurn(table, rows)

/** How many embeddings have been deleted. */
export async function deleteRows(table: Table, where: string): Promise<number> {
  return (await writeInTurn(table, () => table.delete(where))).numDeletedRows
}

/** The analysed text of all rows, in batches. */
export async function* readTerms(table: Table): AsyncGenerator<string[]> {
  for await (const batch of table.query().select([TERMS])) {
    const terms = batch.getChild(TERMS)
    yield Array.from({ length: batch.numRows }, (_, index) => String(terms?.get(index) ?? ''))
  }
}
