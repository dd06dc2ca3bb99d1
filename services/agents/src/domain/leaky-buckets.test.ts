import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { LeakyBuckets } from './leaky-buckets.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'Date'] }))
afterEach(() => void vi.useRealTimers())

/** When each of some pieces of work, asked for now, gets its turn. */
function turnsOf(buckets: LeakyBuckets, whose: string, pieces: readonly number[]): number[] {
  const began = Date.now()
  const turns: number[] = []
  for (const work of pieces) void buckets.wait(whose, work).then(() => turns.push(Date.now() - began))
  return turns
}

it('lets each begin when those before it would be done', async () => {
  const turns = turnsOf(new LeakyBuckets(1000), 'a', [500, 100, 2000, 1])
  await vi.advanceTimersByTimeAsync(3000)
  expect(turns).toEqual([0, 500, 600, 2600])
})

it('lets nobody wait for others', async () => {
  const buckets = new LeakyBuckets(1000)
  const first = turnsOf(buckets, 'a', [3000, 1])
  const second = turnsOf(buckets, 'b', [10, 1])
  await vi.advanceTimersByTimeAsync(100)
  expect([first, second]).toEqual([[0], [0, 10]])
})

it('saves nothing up', async () => {
  const buckets = new LeakyBuckets(1000)
  turnsOf(buckets, 'a', [1])
  await vi.advanceTimersByTimeAsync(60_000)
  const turns = turnsOf(buckets, 'a', [100, 100])
  await vi.advanceTimersByTimeAsync(1000)
  expect(turns).toEqual([0, 100])
})

it('keeps nobody longer than five seconds', async () => {
  const turns = turnsOf(new LeakyBuckets(1000), 'a', [60_000, 60_000, 60_000])
  await vi.advanceTimersByTimeAsync(5000)
  expect(turns).toEqual([0, 5000, 5000])
})
