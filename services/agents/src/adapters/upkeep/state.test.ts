import { describe, expect, it } from 'vitest'
import { type TableState, upkeepFor } from './state.ts'

const indexed = (rows: number, tail: number, vectorParts = 1): TableState => ({
  rows,
  textTail: tail,
  vectorTail: tail,
  hasVectorIndex: true,
  vectorParts,
})
const plain = (rows: number, textTail = rows): TableState => ({
  rows,
  textTail,
  vectorTail: 0,
  hasVectorIndex: false,
  vectorParts: 0,
})

describe('what a store needs', () => {
  it.each([
    ['a small one', plain(4999), 'nothing', 'index', 'index'],
    ['a small one that is indexed', plain(4999, 0), 'nothing', 'nothing', 'nothing'],
    ['one that has become large', plain(5000), 'nothing', 'rebuild', 'rebuild'],
    ['one that has become very large', plain(50_000), 'rebuild', 'rebuild', 'rebuild'],
    ['a tail of 699 in 20,000', indexed(20_000, 699), 'nothing', 'nothing', 'index'],
    ['a tail of 1,399 in 100,000', indexed(100_000, 1399), 'nothing', 'nothing', 'index'],
    ['a tail of 1,400 in 100,000', indexed(100_000, 1400), 'nothing', 'index', 'index'],
    ['a tail of 40,000 in 100,000', indexed(100_000, 40_000), 'nothing', 'index', 'index'],
    ['a tail of 50,000 in 100,000', indexed(100_000, 50_000), 'index', 'index', 'index'],
    ['a tail of 99 in 50,000', indexed(50_000, 99), 'nothing', 'nothing', 'nothing'],
    ['nothing new', indexed(50_000, 0), 'nothing', 'nothing', 'nothing'],
  ])(
    '%s, while it is loaded, while it is searched as well, and at rest',
    (_name, state, loading, serving, resting) => {
      expect(upkeepFor(state, state.rows, 'loading')).toBe(loading)
      expect(upkeepFor(state, state.rows, 'serving')).toBe(serving)
      expect(upkeepFor(state, state.rows, 'resting')).toBe(resting)
    },
  )

  it('is one index instead of many parts, at rest and once it has grown', () => {
    expect(upkeepFor(indexed(55_100, 0, 5), 50_000, 'resting')).toBe('rebuild')
    expect(upkeepFor(indexed(55_100, 0, 4), 50_000, 'resting')).toBe('nothing')
    expect(upkeepFor(indexed(54_000, 0, 5), 50_000, 'resting')).toBe('nothing')
    expect(upkeepFor(indexed(55_100, 0, 24), 50_000, 'serving')).toBe('nothing')
    expect(upkeepFor(indexed(55_100, 0, 25), 50_000, 'serving')).toBe('rebuild')
  })

  it('is a new index when many rows are gone', () => {
    expect(upkeepFor(indexed(34_000, 0), 50_000, 'resting')).toBe('rebuild')
    expect(upkeepFor(indexed(36_000, 0), 50_000, 'resting')).toBe('nothing')
  })
})
