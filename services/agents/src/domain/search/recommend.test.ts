import { describe, expect, it } from 'vitest'
import { measureRanking, type RankingMetrics } from './metrics.ts'
import { recommend } from './recommend.ts'

const K = 4
const RELEVANT = ['a', 'b']

const of = (...ids: string[]): RankingMetrics =>
  measureRanking(
    ids.map((id) => ({ id, score: 0.5 })),
    new Set(RELEVANT),
    K,
  )
const BEST = of('a', 'b', 'x')
const MIDDLE = of('x', 'a', 'y', 'b')
const WORST = of('x', 'y', 'z', 'b')
const NONE = of('x', 'y', 'z')

const about = (vector: RankingMetrics, keyword: RankingMetrics, hybrid: RankingMetrics): string[] =>
  recommend(
    hybrid,
    { 'Vector Only': vector, 'Keyword Only': keyword, Hybrid: hybrid },
    { k: K, relevant: RELEVANT.length, defaultWeight: 0.7 },
  )
const alone = (metrics: RankingMetrics, relevant = RELEVANT.length): string[] =>
  recommend(metrics, undefined, { k: K, relevant, defaultWeight: 0.7 })

describe('recommend', () => {
  it('says which search ranks best, with the figures that say so', () => {
    expect(about(MIDDLE, WORST, BEST)[0]).toMatch(
      /^Hybrid ranks best.*Hybrid 1\.000.*keep vectorWeight near 0\.7/,
    )
    expect(about(BEST, WORST, MIDDLE)[0]).toMatch(
      /^Vector search alone ranks better.*vectorWeight above 0\.7/,
    )
    expect(about(WORST, BEST, MIDDLE)[0]).toMatch(
      /^Keyword search alone ranks better.*vectorWeight below 0\.7/,
    )
    expect(about(BEST, BEST, MIDDLE)[0]).toMatch(/^Vector search and keyword search, each alone, rank better/)
    expect(about(BEST, WORST, BEST)[0]).toMatch(/^No strategy ranks better than Hybrid/)
    expect(about(NONE, NONE, NONE)[0]).toMatch(/^No strategy found a relevant embedding/)
    expect(about(WORST, NONE, BEST)[0]).toContain(
      `Vector Only ${WORST.ndcg.toFixed(3)}, Keyword Only 0.000, Hybrid 1.000`,
    )
  })

  it('says what the ranking itself lacks', () => {
    expect(alone(BEST)).toEqual(['All 2 relevant embeddings were found, the first of them on top.'])
    expect(alone(MIDDLE)).toEqual([expect.stringMatching(/^The first relevant result has rank 2/)])
    expect(alone(WORST)).toEqual([
      expect.stringMatching(/^The first relevant result has rank 4/),
      expect.stringMatching(/^1 of 2 relevant embeddings are not among the first 4: raise k/),
    ])
    expect(alone(NONE)).toEqual([
      expect.stringMatching(/^None of the 2 relevant embeddings is among the first 3/),
    ])
    expect(alone(of())).toEqual(['Hybrid found nothing: the store is empty.'])
    const many = measureRanking([{ id: 'a', score: 1 }], new Set(['a', 'b', 'c', 'd', 'e']), K)
    expect(alone(many, 5)).toEqual([
      expect.stringMatching(/^k is 4 but 5 embeddings are relevant: at most 0\.800/),
    ])
  })

  it('says nothing of searches that were not compared', () => {
    for (const metrics of [BEST, MIDDLE, WORST, NONE]) {
      expect(alone(metrics).join()).not.toMatch(/Vector|Keyword|vectorWeight/)
    }
  })
})
