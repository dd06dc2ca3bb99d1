import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Candidate, fuse } from './fuse.ts'

const scored = (candidates: readonly Candidate[], weight: number) =>
  fuse(candidates, weight).map(({ address, score }) => [address, score])

describe('fuse', () => {
  it('normalises both scores over all candidates and weighs them', () => {
    const candidates = [
      { address: 1n, vector: 1, keyword: 0 },
      { address: 2n, vector: 0.75, keyword: 4 },
      { address: 3n, vector: 0.5, keyword: 8 },
    ]
    // Equal: the nearer one first.
    expect(scored(candidates, 0.5)).toEqual([
      [1n, 0.5],
      [2n, 0.5],
      [3n, 0.5],
    ])
    expect(scored(candidates, 0.75)).toEqual([
      [1n, 0.75],
      [2n, expect.closeTo(0.5, 12)],
      [3n, 0.25],
    ])
  })

  it('takes nothing for the least keyword score, whatever the candidates’ least is', () => {
    const candidates = [
      { address: 1n, vector: 1, keyword: 3 },
      { address: 2n, vector: 0, keyword: 6 },
    ]
    expect(scored(candidates, 0)).toEqual([
      [2n, 1],
      [1n, 0.5],
    ])
  })

  it('has nothing to tell apart among equals: all are as good as the best', () => {
    const equal = [2n, 1n].map((address) => ({ address, vector: 0.6, keyword: 2 }))
    expect(scored(equal, 0.7)).toEqual([
      [1n, 1],
      [2n, 1],
    ])
    const wordless = equal.map((candidate) => ({ ...candidate, keyword: 0 }))
    expect(scored(wordless, 0.7)).toEqual([
      [1n, 0.7],
      [2n, 0.7],
    ])
    expect(fuse([], 0.5)).toEqual([])
  })

  it('gives each candidate once, from 0 to 1, best first, in an order that does not depend on theirs', () => {
    const candidate = fc.record({
      vector: fc.double({ min: 0, max: 1, noNaN: true }),
      keyword: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 50, noNaN: true })),
    })
    fc.assert(
      fc.property(
        fc.array(candidate, { maxLength: 30 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (items, weight) => {
          const candidates = items.map((item, index) => ({ ...item, address: BigInt(index) }))
          const fused = fuse(candidates, weight)
          expect(new Set(fused.map(({ address }) => address))).toEqual(
            new Set(candidates.map(({ address }) => address)),
          )
          expect(fused).toHaveLength(candidates.length)
          const scores = fused.map(({ score }) => score)
          for (const score of scores) expect(score >= 0 && score <= 1).toBe(true)
          expect(scores).toEqual(scores.toSorted((a, b) => b - a))
          expect(fuse(candidates.toReversed(), weight)).toEqual(fused)
        },
      ),
    )
  })

  it('never ranks one lower for being better in both', () => {
    const pair = fc.tuple(
      fc.double({ min: 0, max: 1, noNaN: true }),
      fc.double({ min: 0, max: 9, noNaN: true }),
    )
    fc.assert(
      fc.property(
        fc.array(pair, { minLength: 2, maxLength: 20 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (pairs, weight) => {
          const candidates = pairs.map(([vector, keyword], index) => ({
            address: BigInt(index),
            vector,
            keyword,
          }))
          const scores = new Map(fuse(candidates, weight).map(({ address, score }) => [address, score]))
          for (const a of candidates) {
            for (const b of candidates) {
              if (a.vector < b.vector || a.keyword < b.keyword) continue
              expect(scores.get(a.address)).toBeGreaterThanOrEqual(scores.get(b.address) ?? 9)
            }
          }
        },
      ),
    )
  })
})
