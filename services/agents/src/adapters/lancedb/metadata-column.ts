import { invalidInput } from '@atrium/kernel/errors'
import { type Data, Field, List, makeData, Utf8 } from 'apache-arrow'
import type { Analyse } from '../../domain/filter/filter.ts'
import { isJsonWithin, METADATA_DEPTH, metadataTree } from '../../domain/filter/metadata-tree.ts'
import { BatchEntries } from './metadata-column-scalars.ts'
import { labelsOf } from './metadata-column-walk.ts'
import { utf8Data, utf8Field } from './utf8-data.ts'

/** What the metadata of one item and of one batch may weigh. */
export const METADATA_LIMITS = {
  jsonLength: 65_536,
  depth: METADATA_DEPTH,
  labels: 8192,
  labelCharacters: 524_288,
  batchCharacters: 67_108_864,
} as const

// Compressed as LanceDB likes: it would not use the index over labels of another type than its own.
const labelType = new List(new Field('item', new Utf8(), true))

/**
 * The columns that metadata is kept in: `metadata`, its JSON as it goes out again; `facets`, a label for
 * each thing that a filter may find, which a LABEL_LIST index makes fast; `ordered`, numbers and strings as
 * text that ranges search.
 */
export const METADATA_FIELDS = [
  utf8Field('metadata', true),
  new Field('facets', labelType, false),
  utf8Field('ordered', false),
] as const

/**
 * The columns of a batch, in the order of `METADATA_FIELDS`.
 * @param items JSON values, one a row
 * @param at names the array in errors
 * @throws AppError 400 naming the item that is too large or too deep to be found by filters
 */
export function metadataColumns(
  items: readonly (Readonly<Record<string, unknown>> | null | undefined)[],
  analyse: Analyse,
  at = 'body.metadata',
): readonly [Data<Utf8>, Data<List<Utf8>>, Data<Utf8>] {
  const entries = new BatchEntries()
  let weight = 0
  const rows = items.map((item, index) => {
    const row = rowOf(item ?? null, analyse, entries, () => `${at}[${index}]`)
    weight += row.weight
    // At once: what is refused should not fill the memory first.
    if (weight > METADATA_LIMITS.batchCharacters) {
      throw invalidInput(at, 'is too large for one batch; send fewer items at a time')
    }
    return row
  })
  return [
    utf8Data(rows.map((row) => row.json)),
    listData(rows.map((row) => row.facets)),
    utf8Data(rows.map((row) => row.ordered)),
  ]
}

interface Row {
  readonly json: string | null
  readonly facets: readonly string[]
  readonly ordered: string
  readonly weight: number
}

const NONE: Row = { json: null, facets: [], ordered: '', weight: 0 }

function rowOf(
  item: Readonly<Record<string, unknown>> | null,
  analyse: Analyse,
  entries: BatchEntries,
  at: () => string,
): Row {
  if (item === null) return NONE
  if (!isJsonWithin(item, METADATA_LIMITS.depth)) {
    throw invalidInput(at(), `must be JSON of at most ${METADATA_LIMITS.depth} levels, its numbers doubles`)
  }
  const json = JSON.stringify(item)
  if (json.length > METADATA_LIMITS.jsonLength) {
    throw invalidInput(at(), `must be at most ${METADATA_LIMITS.jsonLength} characters of JSON`)
  }
  const found = labelsOf(metadataTree(item), analyse, METADATA_LIMITS.labels, entries)
  const ordered = found.ordered
  let weight = ordered.length
  for (const label of found.facets) weight += label.length
  if (found.isCut || weight > METADATA_LIMITS.labelCharacters) {
    throw invalidInput(at(), 'has too many different values and words to be found by filters')
  }
  return { json, facets: found.facets, ordered, weight }
}

/** Lists that no row lacks. */
function listData(rows: readonly (readonly string[])[]): Data<List<Utf8>> {
  const valueOffsets = new Int32Array(rows.length + 1)
  for (const [row, items] of rows.entries()) valueOffsets[row + 1] = (valueOffsets[row] ?? 0) + items.length
  const child = utf8Data(rows.flat())
  return makeData({ type: labelType, length: rows.length, nullCount: 0, valueOffsets, child })
}
