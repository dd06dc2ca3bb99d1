import { expect, test } from 'vitest'
import { RateLimiter } from './rate-limiter.ts'

const MOST_HOLDERS = 50_000

test('a process remembers the latest holders, whatever number of callers comes', async () => {
  const asked: string[] = []
  const limiter = new RateLimiter({
    lease: async ({ holder, want, burst }) => {
      asked.push(holder)
      return { granted: want, tokens: burst - want }
    },
    onFailure: (error) => {
      throw error
    },
    onSweep: () => {},
  })
  const limit = { perMinute: 60, burst: 100_000 }
  for (let nth = 0; nth <= MOST_HOLDERS; nth++) await limiter.take(`address:${nth}`, limit)
  expect(asked).toHaveLength(MOST_HOLDERS + 1)
  asked.length = 0
  await limiter.take('address:0', limit)
  expect(asked).toEqual(['address:0'])
})
