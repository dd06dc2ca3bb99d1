import { Field, FixedSizeList, Float32, Float64, Int32, Schema, Utf8 } from 'apache-arrow'
import { METADATA_FIELDS } from './metadata-column.ts'
import { TEXT_FIELDS } from './text-column.ts'

/** What a listed embedding or a search result shows of a row. */
export const SHOWN_COLUMNS = ['embedding_id', 'document_id', 'sequence', 'chunk', 'metadata', 'created_at']

/** Type of a vector column. LanceDB names the inner field so. */
export const vectorType = (dimension: number): FixedSizeList<Float32> =>
  new FixedSizeList(dimension, new Field('item', new Float32(), true))

/** The columns of a store's table, one row an embedding. `created_at` is in milliseconds since 1970. */
export const tableSchema = (dimension: number): Schema =>
  new Schema([
    new Field('embedding_id', new Utf8(), false),
    new Field('document_id', new Utf8(), false),
    new Field('sequence', new Int32(), false),
    new Field('chunk', new Utf8(), false),
    new Field('created_at', new Float64(), false),
    ...METADATA_FIELDS,
    ...TEXT_FIELDS,
    new Field('vector', vectorType(dimension), false),
  ])
