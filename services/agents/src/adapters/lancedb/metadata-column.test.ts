import { makeVector } from 'apache-arrow'
import { describe, expect, it } from 'vitest'
import { METADATA_FIELDS, METADATA_LIMITS, metadataColumns } from './metadata-column.ts'

const analyse = (text: string): string[] => text.toLowerCase().split(' ')

const columnsOf = (items: Parameters<typeof metadataColumns>[0]) => {
  const [json, facets, ordered] = metadataColumns(items, analyse)
  return {
    metadata: [...makeVector(json)],
    facets: [...makeVector(facets)].map((labels) => [...(labels ?? [])]),
    ordered: [...makeVector(ordered)],
  }
}

describe('metadataColumns', () => {
  it('keeps the JSON as it came', () => {
    const texts = [
      '{"z":1,"a":[1e+21,0.1,9007199254740993,[],{},null,[[true]]],"é\\u0000":"\\ud83d\\ude00"}',
      '{"__proto__":{"a.b":1},"":""}',
      '{}',
    ]
    const items = texts.map((text) => JSON.parse(text))
    const { metadata } = columnsOf([...items, null, undefined])
    expect(metadata.slice(0, 3).map((text) => JSON.parse(text ?? ''))).toEqual(items)
    expect(metadata.slice(3)).toEqual([null, null])
  })

  it('gives the columns their declared types', () => {
    const columns = metadataColumns([{ a: 1 }, null], analyse)
    expect(columns.map((column) => String(column.type))).toEqual(
      METADATA_FIELDS.map((field) => String(field.type)),
    )
    expect(columns.map((column) => column.length)).toEqual([2, 2, 2])
  })

  it('has the same labels for a value in whatever row of whatever batch, and others for its look-alikes', () => {
    const values = [1, '1', true, 'true', null, 'null', 't', 0, -0, 'x '.repeat(50)]
    const together = columnsOf([...values, ...values].map((a) => ({ a })))
    const alone = values.map((a) => columnsOf([{ a }]))
    expect(together.facets).toEqual([...alone, ...alone].map(({ facets }) => facets[0]))
    expect(together.ordered).toEqual([...alone, ...alone].map(({ ordered }) => ordered[0]))
    const distinct = new Set(together.facets.map((labels) => labels.join()))
    // 0 and -0 are equal.
    expect(distinct.size).toBe(values.length - 1)
  })

  it('has short labels for long values, so that an index over them stays small', () => {
    const { facets } = columnsOf([{ a: 'x'.repeat(10_000), ['k'.repeat(1000)]: 1 }])
    expect(Math.max(...(facets[0] ?? []).map((label) => label?.length ?? 0))).toBeLessThanOrEqual(96)
  })

  it('has no rows that could not be told apart by their separators', () => {
    const { facets } = columnsOf([{ 'a\u0001sb': 'c' }, { a: 'b\u0001sc' }, { 'a\u0003\u0011sb': 'c' }])
    for (const label of facets[0] ?? []) {
      expect(facets[1]).not.toContain(label)
      expect(facets[2]).not.toContain(label)
    }
  })

  it.each([
    ['too deep', JSON.parse(`${'{"a":'.repeat(33)}1${'}'.repeat(33)}`)],
    ['much too deep', JSON.parse(`${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`)],
    ['too long', { a: 'x'.repeat(METADATA_LIMITS.jsonLength) }],
    ['of too many values', { a: Array.from({ length: 9000 }, (_item, index) => index) }],
    ['of arrays in arrays', { a: nestedArrays(15) }],
    ['no double', { a: Number.POSITIVE_INFINITY }],
  ])('refuses metadata that is %s', (_name, item) => {
    expect(() => columnsOf([{}, item])).toThrow(
      expect.objectContaining({ status: 400, field: 'body.metadata[1]' }),
    )
  })
})

/** Two objects a level, which every path reaches by index and without: exponential if nobody counts. */
function nestedArrays(levels: number): unknown {
  return levels === 0 ? 1 : [{ a: nestedArrays(levels - 1) }, { a: 1, b: levels }]
}
