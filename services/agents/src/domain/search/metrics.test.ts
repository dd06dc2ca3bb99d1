import { describe, expect, it } from 'vitest'
import { measureRanking } from './metrics.ts'

const ranking = (...ids: string[]) => ids.map((id, index) => ({ id, score: 1 - index / 10 }))
const measured = (found: string[], relevant: string[], k: number) =>
  measureRanking(ranking(...found), new Set(relevant), k)

describe('measureRanking', () => {
  it('has the figures of a ranking that was worked out by hand', () => {
    const figures = measured(['a', 'x', 'b', 'y', 'z', 'c'], ['a', 'b', 'c', 'd'], 6)
    const ideal = 1 + 1 / Math.log2(3) + 1 / Math.log2(4) + 1 / Math.log2(5)
    expect(figures).toEqual({
      precisionAtK: 0.5,
      recallAtK: 0.75,
      mrr: 1,
      ndcg: expect.closeTo((1 + 1 / 2 + 1 / Math.log2(7)) / ideal, 12),
      averageScore: expect.closeTo(0.75, 12),
      totalResults: 6,
      relevantResults: 3,
    })
  })

  it('is by k where fewer were found, and looks no further than k', () => {
    expect(measured(['a'], ['a'], 10)).toMatchObject({
      precisionAtK: 0.1,
      recallAtK: 1,
      ndcg: 1,
      totalResults: 1,
    })
    expect(measured(['x', 'y', 'a'], ['a'], 2)).toMatchObject({
      precisionAtK: 0,
      recallAtK: 0,
      mrr: 0,
      ndcg: 0,
      totalResults: 2,
      relevantResults: 0,
    })
    expect(measured(['x', 'y', 'a'], ['a'], 3).mrr).toBeCloseTo(1 / 3, 12)
  })

  it('is perfect when k relevant ones are on top, though there are more', () => {
    expect(measured(['a', 'b'], ['a', 'b', 'c', 'd'], 2)).toMatchObject({
      precisionAtK: 1,
      recallAtK: 0.5,
      mrr: 1,
      ndcg: 1,
    })
  })

  it('is nothing for nothing', () => {
    expect(measured([], ['a'], 10)).toEqual({
      precisionAtK: 0,
      recallAtK: 0,
      mrr: 0,
      ndcg: 0,
      averageScore: 0,
      totalResults: 0,
      relevantResults: 0,
    })
  })
})
