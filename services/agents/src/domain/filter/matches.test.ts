import { describe, expect, it } from 'vitest'
import type { JsonObject } from './filter.ts'
import { matches } from './matches.ts'
import { parseFilter, parseKeywordFilter } from './parse-filter.ts'

const analyse = (text: string): string[] =>
  (text.toLowerCase().match(/\w+/g) ?? []).filter((word) => word !== 'it')
const isFound = (filter: object, metadata: JsonObject): boolean =>
  matches(parseFilter(filter), metadata, analyse)

const book = {
  lang: 'en',
  year: 2021,
  tags: ['a', 'b'],
  price: 1.5,
  is: true,
  none: null,
  nested: { k: 'v' },
}

describe('matches', () => {
  it.each<[object, boolean]>([
    [{}, true],
    [{ lang: 'en' }, true],
    [{ lang: 'en', year: 2020 }, false],
    [{ lang: { $eq: 'en' }, year: { $gte: 2020, $lt: 2022 } }, true],
    [{ year: '2021' }, false],
    [{ is: true }, true],
    [{ is: 1 }, false],
    [{ is: { $gt: false } }, true],
    [{ is: { $lte: false } }, false],
    [{ tags: 'a' }, true],
    [{ tags: ['a', 'b'] }, true],
    [{ tags: ['b', 'a'] }, false],
    [{ tags: { $ne: 'a' } }, false],
    [{ tags: { $in: ['x', 'b'] } }, true],
    [{ tags: { $nin: ['x', 'b'] } }, false],
    [{ tags: { $in: [] } }, false],
    [{ tags: { $nin: [] } }, true],
    [{ 'tags.1': 'b' }, true],
    [{ 'tags.2': { $exists: true } }, false],
    [{ 'nested.k': 'v' }, true],
    [{ nested: { k: 'v' } }, true],
    [{ nested: {} }, false],
    [{ none: null }, true],
    [{ absent: null }, true],
    [{ absent: { $in: [null] } }, true],
    [{ absent: { $gte: null } }, true],
    [{ absent: { $gt: null } }, false],
    [{ absent: { $exists: false } }, true],
    [{ none: { $exists: true } }, true],
    [{ absent: { $ne: 1 } }, true],
    [{ absent: { $ne: null } }, false],
    [{ absent: { $nin: [1] } }, true],
    [{ absent: { $lt: 1 } }, false],
    [{ absent: { $not: { $lt: 1 } } }, true],
    [{ $nor: [{ absent: { $lt: 1 } }, { lang: 'de' }] }, true],
    [{ $or: [{ lang: 'de' }, { year: { $gt: 2020 } }] }, true],
    [{ $and: [{ lang: 'en' }, { $or: [{ year: 1 }] }] }, false],
    [{ year: { $gt: '1' } }, false],
    [{ lang: { $gt: 1 } }, false],
    [{ lang: { $gt: 'EN', $lt: 'eo' } }, true],
    [{ 'lang.x': null }, true],
  ])('%j → %s', (filter, wanted) => {
    expect(isFound(filter, book)).toBe(wanted)
  })

  it.each<[object, JsonObject, boolean]>([
    [{ 'a.b': 1 }, { a: [{ b: 1 }, { b: 2 }] }, true],
    [{ 'a.b': { $ne: 1 } }, { a: [{ b: 1 }, { b: 2 }] }, false],
    [{ 'a.0.b': 2 }, { a: [{ b: 1 }, { b: 2 }] }, false],
    [{ 'a.1.b': 2 }, { a: [{ b: 1 }, { b: 2 }] }, true],
    [{ 'a.b': null }, { a: [{ b: 1 }, {}] }, true],
    [{ 'a.b': null }, { a: [] }, false],
    [{ 'a.b': null }, { a: [1, 2] }, false],
    [{ 'a.b': { $exists: false } }, { a: [] }, true],
    [{ 'a.b': 1 }, { a: [[{ b: 1 }]] }, false],
    [{ a: { $gt: 5, $lt: 3 } }, { a: [1, 9] }, true],
    [{ a: [] }, { a: [] }, true],
    [{ a: [1] }, { a: [[1], 2] }, true],
    [{ 'a.b': 1 }, { 'a.b': 1 }, true],
    [{ a: 0 }, { a: -0 }, true],
    // By code points an emoji is above U+E000; by UTF-16 units it would be below.
    [{ a: { $gt: '\ue000' } }, { a: '😀' }, true],
  ])('%j on %j → %s', (filter, metadata, wanted) => {
    expect(isFound(filter, metadata)).toBe(wanted)
  })

  it.each<[object, boolean]>([
    [{ title: 'brown fox' }, true],
    [{ title: 'Fox BROWN!' }, true],
    [{ title: 'brown bear' }, false],
    [{ title: { $eq: 'brown fox' } }, false],
    [{ authors: 'lee kim' }, true],
    [{ year: '2021' }, false],
    [{ year: 2021 }, true],
    [{ country: 'it' }, true],
    [{ title: 'it' }, false],
    [{ $or: [{ title: 'quick' }, { title: 'none' }] }, true],
  ])('as words: %j → %s', (filter, wanted) => {
    const metadata = {
      title: 'The quick brown fox',
      authors: ['Ann Lee', 'Bo Kim'],
      year: 2021,
      country: 'it',
    }
    expect(matches(parseKeywordFilter(filter), metadata, analyse)).toBe(wanted)
  })
})
