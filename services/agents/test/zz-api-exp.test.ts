import { startTestPlatform } from '@atrium/testing'
import { it } from 'vitest'
import { idOf, randomVector, storesIn, vectorScore } from './retrieval.ts'

it('ann', async () => {
  await using platform = await startTestPlatform()
  const { spaceId, apiKey } = await platform.space()
  const stores = storesIn(platform, spaceId, apiKey)
  const store = await stores.store()
  const vectors = Array.from({ length: 6000 }, (_, i) => randomVector(i))
  for (let f = 0; f < 6000; f += 1000)
    await stores.add(
      store,
      vectors
        .slice(f, f + 1000)
        .map((vector, j) => ({ vector, chunk: `word${(f + j) % 50} apple`, metadata: { i: f + j } })),
    )
  for (;;) {
    const { rows } = await platform.pool.query(
      'SELECT dirty_since FROM agents.vector_store_upkeep WHERE vector_store_id = $1',
      [idOf(store)],
    )
    if (rows[0].dirty_since === null) break
    await new Promise((r) => setTimeout(r, 100))
  }
  const numbers = (h: any[]) => h.map((x) => x.metadata.i)
  let hit = 0,
    total = 0,
    same = 0,
    same0 = 0,
    maxDiff = 0
  for (let q = 0; q < 20; q++) {
    const query = randomVector(100000 + q)
    for (const limit of [1, 10, 100]) {
      for (const metadataFilter of [{}, { i: { $lt: 300 } }]) {
        const exact = vectors
          .map((v, i) => [i, vectorScore(v, query)] as const)
          .filter(([i]) => !('i' in metadataFilter) || i < 300)
          .sort((a, b) => b[1] - a[1])
          .slice(0, limit)
        const near = await stores.search(store, 'search', { queryEmbedding: query, limit, metadataFilter })
        const set = new Set(numbers(near))
        hit += exact.filter(([i]) => set.has(i)).length
        total += exact.length
        const byN = new Map(vectors.map((v, i) => [i, 0] as const))
        for (const x of near)
          maxDiff = Math.max(maxDiff, Math.abs(x.score - vectorScore(vectors[(x.metadata as any).i]!, query)))
        const h = await stores.search(store, 'hybrid-search', {
          queryEmbedding: query,
          queryText: 'word3 apple',
          vectorWeight: 1,
          limit,
          metadataFilter,
        })
        if (JSON.stringify(numbers(h)) === JSON.stringify(numbers(near))) same++
        const k = await stores.search(store, 'keyword-search', {
          queryText: 'word3 apple',
          limit,
          metadataFilter,
        })
        const h0 = await stores.search(store, 'hybrid-search', {
          queryEmbedding: query,
          queryText: 'word3 apple',
          vectorWeight: 0,
          limit,
          metadataFilter,
        })
        if (JSON.stringify(numbers(h0)) === JSON.stringify(numbers(k))) same0++
      }
    }
  }
  console.log({ recall: hit / total, same, same0, of: 120, maxDiff })
}, 120000)
