import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect, Index, type Table } from '@lancedb/lancedb'
import { Table as ArrowTable, Field, Int32, makeData, RecordBatch, Schema, Struct } from 'apache-arrow'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Filter, JsonObject } from '../../domain/filter/filter.ts'
import { matches } from '../../domain/filter/matches.ts'
import { parseFilter, parseKeywordFilter } from '../../domain/filter/parse-filter.ts'
import { filterSql } from './filter-sql.ts'
import { METADATA_FIELDS, metadataColumns } from './metadata-column.ts'

const analyse = (text: string): string[] =>
  (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).filter((word) => word !== 'it')

const schema = new Schema([new Field('id', new Int32(), false), ...METADATA_FIELDS])

function batchOf(first: number, items: readonly (JsonObject | null)[]): ArrowTable {
  const ids = makeData({ type: new Int32(), data: Int32Array.from(items, (_item, index) => first + index) })
  const children = [ids, ...metadataColumns(items, analyse)]
  const data = makeData({ type: new Struct(schema.fields), length: items.length, nullCount: 0, children })
  return new ArrowTable(schema, [new RecordBatch(schema, data)])
}

// Few keys and values, so that documents and filters meet; all that separators, quotes and orders could break.
const KEYS = [
  'a',
  'b',
  'c',
  '0',
  '1',
  'a.b',
  'it\'s "q"',
  'schlüssel',
  '__proto__',
  '',
  'a\u0001sx',
  '\u0000',
  '*',
]
const STRINGS = [
  ...[
    '',
    'a',
    'b',
    'ab',
    'a b',
    'It',
    'x OR 1=1',
    "'; DROP TABLE t; --",
    "it's",
    'back\\slash',
    '%',
    '_',
    '.*',
  ],
  ...[
    '2024-01-01',
    '2024-01-01T10:00:00Z',
    '2024-06-30',
    '1',
    'true',
    'null',
    '😀',
    '\uffff',
    '\ue000',
    '\ud800',
  ],
  ...[
    '\u0000',
    '\u0001',
    '\u0002',
    '\u0003',
    '\u0003\u0010',
    'a\u0001',
    'a\u0000b',
    'line\r\nbreak\t',
    '$a',
    '@',
  ],
  ...[
    'é',
    'e\u0301',
    ...['x'.repeat(99), `${'x'.repeat(99)}y`, 'x'.repeat(101), 'x'.repeat(300), 'long '.repeat(200)],
    ...[
      '\u0001'.repeat(100),
      '\u0001'.repeat(101),
      '😀'.repeat(50),
      `${'😀'.repeat(50)}\ud83d`,
      `a${'😀'.repeat(200)}`,
    ],
    '[',
    '](?',
    '{1,9}',
  ],
]
const NUMBERS = [
  ...[0, -0, 1, -1, 1.5, 2, 10, 9, 100, 1e21, 1e308, -1e308, 5e-324, -5e-324, 0.1, 0.1 + 0.2, 0.3],
  ...[2 ** 53, 2 ** 53 + 2, 2024, -1e-7, 1e-7],
]
const scalar = fc.oneof(
  fc.constantFrom(...STRINGS),
  fc.constantFrom(...NUMBERS),
  fc.boolean(),
  fc.constant(null),
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const key = fc.constantFrom(...KEYS)
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    { arbitrary: scalar, weight: 4 },
    { arbitrary: fc.array(tie('value'), { maxLength: 3 }), weight: 2 },
    { arbitrary: object(tie('value')), weight: 2 },
  ),
}))
function object(values: fc.Arbitrary<unknown>): fc.Arbitrary<JsonObject> {
  // By way of JSON text, as it arrives: `__proto__` is an own key then.
  return fc
    .array(fc.tuple(key, values), { maxLength: 4 })
    .map((entries) => `{${entries.map(([name, item]) => `${JSON.stringify(name)}:${json(item)}`).join()}}`)
    .map((text): JsonObject => JSON.parse(text))
}
const json = (item: unknown): string => (Object.is(item, -0) ? '-0' : JSON.stringify(item))

const path = fc.array(key, { minLength: 1, maxLength: 3 }).map((keys) => keys.join('.'))
const condition = fc.oneof(
  fc.record({ $eq: value }),
  fc.record({ $ne: value }),
  fc.record({ $in: fc.array(value, { maxLength: 4 }) }),
  fc.record({ $nin: fc.array(value, { maxLength: 4 }) }),
  fc.record({ $exists: fc.boolean() }),
  ...(['$gt', '$gte', '$lt', '$lte'] as const).map((operator) =>
    scalar
      .filter((item) => typeof item !== 'string' || item.length <= 100)
      .map((item) => ({ [operator]: item })),
  ),
  value,
)
const field = fc.tuple(path, condition, fc.boolean()).map(([at, wanted, isNegated]) => {
  const isOperators = typeof wanted === 'object' && wanted !== null && Object.keys(wanted)[0]?.startsWith('$')
  return { [at]: isNegated && isOperators ? { $not: wanted } : wanted }
})
const { filter } = fc.letrec((tie) => ({
  filter: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    { arbitrary: field, weight: 4 },
    { arbitrary: fc.tuple(field, field).map(([one, other]) => ({ ...one, ...other })), weight: 1 },
    ...['$and', '$or', '$nor'].map((operator) => ({
      arbitrary: fc
        .array(tie('filter'), { minLength: 1, maxLength: 3 })
        .map((parts) => ({ [operator]: parts })),
      weight: 1,
    })),
  ),
}))

/** What chance seldom makes: the ways in which a path may lead to nothing below an array. */
const ABSENCES: readonly JsonObject[] = [
  { a: [{ b: 1 }, {}] },
  { a: [{ b: 1 }, { b: 2 }] },
  { a: [{ b: [{ c: 1 }, { c: 2 }] }, { b: [{ c: 1 }] }] },
  { a: [{ b: [{ c: 1 }, { a: 2 }] }] },
  { a: [{ b: { c: 1 } }, { b: 1 }] },
  { a: [{ b: { c: 1 } }, { b: [] }] },
  { a: [1, { b: 1 }] },
  { a: [{ '0': 1 }, { b: 1 }] },
  { a: [[{ b: 1 }], { b: 1 }] },
  { a: [] },
  { a: {} },
  { a: { b: [] } },
]

describe('filterSql', () => {
  const documents = new Map<number, JsonObject | null>()
  let folder: string
  let table: Table

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'atrium-filter-'))
    const db = await connect(folder)
    table = await db.createEmptyTable('embeddings', schema)
    const items = [...ABSENCES, ...fc.sample(fc.option(object(value), { freq: 20 }), 240 - ABSENCES.length)]
    const add = async (from: number, to: number) => {
      await table.add(batchOf(from, items.slice(from, to)))
      for (let id = from; id < to; id += 1) documents.set(id, items[id] ?? null)
    }
    const remove = async (from: number, to: number) => {
      await table.delete(`id >= ${from} AND id < ${to}`)
      for (let id = from; id < to; id += 1) documents.delete(id)
    }
    // Rows that are indexed, compacted, deleted before and after, and not yet indexed.
    await add(0, 60)
    await add(60, 130)
    await remove(20, 30)
    await table.createIndex('facets', { config: Index.labelList() })
    await remove(100, 110)
    await add(130, 160)
    await table.optimize()
    await add(160, 200)
    await add(200, 240)
    await remove(125, 135)
    await remove(190, 210)
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const idsOf = async (filter: Filter): Promise<number[]> => {
    const where = filterSql(filter, analyse)
    const query = table.query().select(['id'])
    const rows: { id: number }[] = await (where === undefined ? query : query.where(where)).toArray()
    expect(await table.countRows(where)).toBe(rows.length)
    return rows.map((row) => row.id).sort((one, other) => one - other)
  }
  const expected = (filter: Filter): number[] =>
    [...documents].filter(([, item]) => matches(filter, item ?? {}, analyse)).map(([id]) => id)

  it('finds what the filter means, whatever it and the documents hold', async () => {
    await fc.assert(
      fc.asyncProperty(filter, async (input) => {
        const parsed = parseFilter(input)
        expect(await idsOf(parsed)).toEqual(expected(parsed))
      }),
      { numRuns: 400 },
    )
  })

  it('asks the index over labels, which LanceDB does not use for a column of another type than its own', async () => {
    for (const input of [{ a: 1 }, { a: { $in: [1, 2] } }, { a: 1, b: 2 }, { $or: [{ a: 1 }, { b: 'x' }] }]) {
      const where = filterSql(parseFilter(input), analyse)
      expect(
        await table
          .query()
          .where(where ?? '')
          .explainPlan(),
      ).toContain('ScalarIndexQuery')
    }
  })

  it('finds each value by itself', async () => {
    const values = [...STRINGS, ...NUMBERS, true, false, null]
    for (const [index, wanted] of values.entries()) {
      const operator = ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte'][index % 6] ?? '$eq'
      const operand = typeof wanted === 'string' ? wanted.slice(0, 100) : wanted
      const parsed = parseFilter({
        $or: ['a', 'a.b', 'b.0'].map((at) => ({ [at]: { [operator]: operand } })),
      })
      expect(await idsOf(parsed)).toEqual(expected(parsed))
    }
  })

  it('finds what is absent', async () => {
    for (const at of [
      'a',
      'b',
      'a.b',
      'a.0',
      'a.1',
      'a.0.b',
      'a.b.c',
      'a.b.0',
      'a.b.0.c',
      'a.b.1.c',
      'a.0.b.c',
    ]) {
      for (const operators of [{ $eq: null }, { $ne: null }, { $exists: false }, { $in: [null, 1] }]) {
        const parsed = parseFilter({ [at]: operators })
        expect(await idsOf(parsed)).toEqual(expected(parsed))
      }
    }
  })

  it('finds texts by their words', async () => {
    await fc.assert(
      fc.asyncProperty(path, fc.array(fc.constantFrom(...STRINGS), { maxLength: 2 }), async (at, words) => {
        const parsed = parseKeywordFilter({ [at]: words.join(' ') })
        expect(await idsOf(parsed)).toEqual(expected(parsed))
      }),
      { numRuns: 100 },
    )
  })

  it('takes the largest filters that are allowed', async () => {
    const many = parseFilter({ $or: Array.from({ length: 256 }, (_, at) => ({ [`a.k${at}`]: { $ne: at } })) })
    expect(await idsOf(many)).toEqual(expected(many))
    const list = parseFilter({
      a: { $in: Array.from({ length: 1000 }, (_, at) => `v${at}'`) },
      b: { $nin: ['x'] },
    })
    expect(await idsOf(list)).toEqual(expected(list))
    const long = '\ud7ff\ue000ä'.repeat(33)
    const ranges = parseFilter({
      $or: Array.from({ length: 8 }, () => ({ $nor: [{ a: { $gte: long } }, { b: { $lt: long } }] })),
    })
    expect(await idsOf(ranges)).toEqual(expected(ranges))
    let deep: object = { a: 1 }
    for (let level = 2; level <= 15; level += 1) deep = { $nor: [deep, { [`b${level}`]: { $gt: 1 } }] }
    expect(await idsOf(parseFilter(deep))).toEqual(expected(parseFilter(deep)))
  })
})
