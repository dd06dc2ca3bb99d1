// LanceDB called directly, as a process of its own: the limit. Options are JSON in the first argument.
import { connect, type Table } from '@lancedb/lancedb'
import {
  Table as ArrowTable,
  type Data,
  Field,
  FixedSizeList,
  Float32,
  makeData,
  RecordBatch,
  Schema,
  Struct,
  Utf8,
  vectorFromArray,
} from 'apache-arrow'
import { closedLoop } from './client.ts'
import { BATCH, clusteredVectors, DIMENSION, metadataOf, QUERIES, ROWS, textOf } from './data.ts'

interface Options {
  readonly task: 'add-arrow' | 'add-rows' | 'search'
  readonly folder: string
  readonly table: string
  readonly seconds?: number
  readonly atOnce?: number
}

const options = JSON.parse(process.argv[2] ?? '{}') as Options
const item = new Field('item', new Float32(), true)
const vectorType = new FixedSizeList(DIMENSION, item)
const schema = new Schema([
  new Field('id', new Utf8()),
  new Field('chunk', new Utf8()),
  new Field('metadata', new Utf8()),
  new Field('vector', vectorType),
])

const rowNumbers = (from: number): number[] => Array.from({ length: BATCH }, (_, at) => from + at)

function arrowBatch(vectors: Float32Array<ArrayBuffer>, from: number): ArrowTable {
  const rows = rowNumbers(from)
  const text = (values: string[]): Data => vectorFromArray(values, new Utf8()).data[0] as Data<Utf8>
  const numbers = makeData({
    type: new Float32(),
    length: BATCH * DIMENSION,
    nullCount: 0,
    data: vectors.subarray(from * DIMENSION, (from + BATCH) * DIMENSION),
  })
  const children = [
    text(rows.map((row) => `id-${row}`)),
    text(rows.map(textOf)),
    text(rows.map((row) => JSON.stringify(metadataOf(row)))),
    makeData({ type: vectorType, length: BATCH, nullCount: 0, child: numbers }),
  ]
  const struct = makeData({ type: new Struct(schema.fields), length: BATCH, nullCount: 0, children })
  return new ArrowTable(new RecordBatch(schema, struct))
}

const plainBatch = (vectors: Float32Array, from: number) =>
  rowNumbers(from).map((row) => ({
    id: `id-${row}`,
    chunk: textOf(row),
    metadata: JSON.stringify(metadataOf(row)),
    vector: Array.from(vectors.subarray(row * DIMENSION, (row + 1) * DIMENSION)),
  }))

/** Rows a second. What is made before the first call does not count: an application has its vectors at hand. */
async function add(table: Table, isArrow: boolean): Promise<number> {
  const vectors = clusteredVectors(ROWS, 1)
  const batches = Array.from({ length: ROWS / BATCH }, (_, at) =>
    isArrow ? arrowBatch(vectors, at * BATCH) : at * BATCH,
  )
  const began = performance.now()
  let apart = 0
  for (const batch of batches) {
    if (typeof batch !== 'number') {
      await table.add(batch)
      continue
    }
    const start = performance.now()
    const rows = plainBatch(vectors, batch)
    apart += performance.now() - start
    await table.add(rows)
  }
  return (ROWS / (performance.now() - began - apart)) * 1000
}

async function search(table: Table): Promise<unknown> {
  const queries = clusteredVectors(QUERIES, 99)
  const columns = ['embedding_id', 'document_id', 'sequence', 'chunk', 'metadata', '_distance']
  const one = async (turn: number): Promise<void> => {
    const at = turn % QUERIES
    await table
      .vectorSearch(queries.subarray(at * DIMENSION, (at + 1) * DIMENSION))
      .distanceType('cosine')
      .select(columns)
      .limit(10)
      .refineFactor(3)
      .ef(100)
      .toArray()
  }
  await closedLoop(options.atOnce ?? 16, 1, one)
  return closedLoop(options.atOnce ?? 16, options.seconds ?? 5, one)
}

const db = await connect(options.folder)
const result =
  options.task === 'search'
    ? await search(await db.openTable(options.table))
    : await add(
        await db.createEmptyTable(options.table, schema, { mode: 'overwrite' }),
        options.task === 'add-arrow',
      )
process.stdout.write(JSON.stringify(result))
