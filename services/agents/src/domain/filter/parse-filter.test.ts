import { AppError } from '@atrium/kernel/errors'
import { describe, expect, it } from 'vitest'
import { FILTER_LIMITS, parseFilter, parseKeywordFilter } from './parse-filter.ts'

const nested = (levels: number, wrap: (inner: unknown) => unknown): unknown => {
  let filter: unknown = { a: 1 }
  for (let level = 0; level < levels; level += 1) filter = wrap(filter)
  return filter
}
const numbers = (length: number): number[] => Array.from({ length }, (_item, index) => index)

/** The error of a filter that is refused. */
function refusal(filter: unknown): AppError {
  try {
    parseFilter(filter, 'f')
  } catch (error) {
    if (error instanceof AppError) return error
    throw error
  }
  throw new Error('The filter was taken')
}

describe('parseFilter', () => {
  it('ANDs keys and operators', () => {
    expect(parseFilter({ a: { $gte: 1, $lt: 2 }, b: 'x' })).toEqual({
      kind: 'and',
      parts: [
        {
          kind: 'and',
          parts: [
            { kind: 'range', path: 'a', operator: '$gte', bound: 1 },
            { kind: 'range', path: 'a', operator: '$lt', bound: 2 },
          ],
        },
        { kind: 'in', path: 'b', values: ['x'] },
      ],
    })
  })

  it.each([
    [null, 'f'],
    [[], 'f'],
    ['a', 'f'],
    [{ $where: 'x' }, 'f.$where'],
    [{ $eq: 1 }, 'f.$eq'],
    [{ a: { $regex: '.*' } }, 'f.a.$regex'],
    [{ a: { $gt: 1, b: 2 } }, 'f.a.b'],
    [{ a: { $and: [] } }, 'f.a.$and'],
    [{ a: { b: { $gt: 1 } } }, 'f.a.b.$gt'],
    [{ $and: [] }, 'f.$and'],
    [{ $or: {} }, 'f.$or'],
    [{ $nor: [1] }, 'f.$nor[0]'],
    [{ $or: [{ a: 1 }, { b: { $x: 1 } }] }, 'f.$or[1].b.$x'],
    [{ a: { $in: 'x' } }, 'f.a.$in'],
    [{ a: { $nin: { b: 1 } } }, 'f.a.$nin'],
    [{ a: { $exists: 'yes' } }, 'f.a.$exists'],
    [{ a: { $not: 1 } }, 'f.a.$not'],
    [{ a: { $not: {} } }, 'f.a.$not'],
    [{ a: { $gt: [1] } }, 'f.a.$gt'],
    [{ a: { $gt: { b: 1 } } }, 'f.a.$gt'],
    [{ a: Number.POSITIVE_INFINITY }, 'f.a'],
    [{ a: { $lt: Number.NaN } }, 'f.a.$lt'],
    [{ a: { $in: [1, Number.NEGATIVE_INFINITY] } }, 'f.a.$in[1]'],
    [{ a: { $gt: 'x'.repeat(101) } }, 'f.a.$gt'],
    [{ a: 'x'.repeat(FILTER_LIMITS.valueLength + 1) }, 'f.a'],
    [{ a: { $in: numbers(1001) } }, 'f.a.$in'],
    [{ a: { $in: numbers(1000) }, b: { $in: numbers(1000) }, c: 1 }, 'f.c'],
    [{ $or: numbers(257).map((a) => ({ a })) }, 'f.$or'],
    [
      { $or: [{ $or: numbers(200).map((a) => ({ a })) }, { $or: numbers(57).map((a) => ({ a })) }] },
      'f.$or[1].$or[56].a',
    ],
    [{ $or: numbers(17).map((bound) => ({ a: { $gt: bound } })) }, 'f.$or[16].a.$gt'],
    [Object.fromEntries([[numbers(33).join('.'), 1]]), `f.${numbers(33).join('.')}`],
  ])('refuses %j', (filter, field) => {
    const error = refusal(filter)
    expect(error).toMatchObject({ status: 400, code: 'invalid_input' })
    expect(error.field).toBe(field)
    expect(error.message.length).toBeLessThan(500)
  })

  it.each([
    ['$and', (inner: unknown) => ({ $and: [inner] })],
    ['$nor', (inner: unknown) => ({ $nor: [inner] })],
    ['$not', (inner: unknown) => ({ a: { $not: inner } })],
    ['values', (inner: unknown) => ({ a: inner })],
    ['arrays', (inner: unknown) => ({ a: [inner] })],
  ])('refuses 100 and 100,000 levels of %s', (_name, wrap) => {
    for (const levels of [100, 100_000]) expect(refusal(nested(levels, wrap)).status).toBe(400)
  })

  it('shortens long keys in errors', () => {
    expect(refusal({ ['k'.repeat(100_000)]: 1 }).message.length).toBeLessThan(200)
  })

  it('takes dots, quotes, and keys of every object as names', () => {
    for (const path of ['', '.', "it's", '__proto__', 'constructor', 'a"b', '\u0000', 'a.0.b']) {
      expect(parseFilter(JSON.parse(`{${JSON.stringify(path)}:1}`))).toEqual({
        kind: 'in',
        path,
        values: [1],
      })
    }
  })
})

describe('parseKeywordFilter', () => {
  it('reads a plain string as text, at any level, and all else as it is', () => {
    expect(parseKeywordFilter({ a: 'x y', b: 1, c: { $eq: 'x' }, $or: [{ d: 'z' }] })).toEqual({
      kind: 'and',
      parts: [
        { kind: 'text', path: 'a', text: 'x y' },
        { kind: 'in', path: 'b', values: [1] },
        { kind: 'in', path: 'c', values: ['x'] },
        { kind: 'text', path: 'd', text: 'z' },
      ].map((part, index) => (index === 3 ? { kind: 'or', parts: [part] } : part)),
    })
  })

  it('bounds texts', () => {
    expect(() => parseKeywordFilter({ a: 'x'.repeat(4097) }, 'f')).toThrow(/^f\.a must be/)
    expect(() => parseKeywordFilter({ $or: numbers(65).map((n) => ({ a: `t${n}` })) }, 'f')).toThrow(
      /64 texts/,
    )
  })
})
