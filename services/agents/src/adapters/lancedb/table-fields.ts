import { Field, FixedSizeList, Float32, Float64, Int32, Schema } from 'apache-arrow'
import { METADATA_FIELDS } from './metadata-column.ts'
import { TEXT_FIELDS } from './text-column.ts'
import { utf8Field } from './utf8-data.ts'

/** What a listed embedding or a search result shows of a row. */
export const SHOWN_COLUMNS = ['embedding_id', 'document_id', 'sequence', 'chunk', 'metadata', 'created_at']

/** Type of a vector column. LanceDB names the inner field so. */
export const vectorType = (dimension: number): FixedSizeList<Float32> =>
  new FixedSizeList(dimension, new Field('item', new Float32(), true))

/** The columns of a store's table, one row an embedding. `created_at` is in milliseconds since 1970. */
export const tableSchema = (dimension: number): Schema =>
  new Schema([
    utf8Field('embedding_id', false),
    utf8Field('document_id', false),
    new Field('sequence', new Int32(), false),
    utf8Field('chunk', false),
    new Field('created_at', new Float64(), false),
    ...METADATA_FIELDS,
    ...TEXT_FIELDS,
    new Field('vector', vectorType(dimension), false),
  ])
