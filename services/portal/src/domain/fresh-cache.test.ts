import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { FreshCache } from './fresh-cache.ts'

const counting = () => {
  let reads = 0
  return { read: async () => ++reads, reads: () => reads }
}

test('one reading serves all who ask meanwhile, until it is too old', async () => {
  const cache = new FreshCache<number>({ maxAgeMs: 60, maxEntries: 10 })
  const { read, reads } = counting()
  await Promise.all([cache.get('a', '', read), cache.get('a', '', read), cache.get('a', '', read)])
  expect(reads()).toBe(1)
  await delay(70)
  expect(await cache.get('a', '', read)).toBe(2)
})

test('age counts from the beginning of the reading, not from its end', async () => {
  const cache = new FreshCache<number>({ maxAgeMs: 50, maxEntries: 10 })
  const { read } = counting()
  await cache.get('a', '', async () => {
    await delay(60)
    return read()
  })
  expect(await cache.get('a', '', read)).toBe(2)
})

test('dropping a subject forgets all about it, readings under way included, and nothing else', async () => {
  const cache = new FreshCache<number>({ maxAgeMs: 10_000, maxEntries: 10 })
  const { read } = counting()
  await cache.get('a', 'x', read)
  await cache.get('b', 'x', read)
  const slow = cache.get('a', 'y', async () => {
    await delay(20)
    return read()
  })
  cache.drop('a')
  await slow
  expect(await cache.get('a', 'x', read)).toBe(4)
  expect(await cache.get('a', 'y', read)).toBe(5)
  expect(await cache.get('b', 'x', read)).toBe(2)
  cache.clear()
  expect(await cache.get('b', 'x', read)).toBe(6)
})

test('a failed reading is not kept', async () => {
  const cache = new FreshCache<number>({ maxAgeMs: 10_000, maxEntries: 10 })
  await expect(cache.get('a', '', () => Promise.reject(new Error('down')))).rejects.toThrow('down')
  expect(await cache.get('a', '', async () => 7)).toBe(7)
})

test('it stays within its bound', async () => {
  const cache = new FreshCache<number>({ maxAgeMs: 10_000, maxEntries: 2 })
  const { read, reads } = counting()
  for (const subject of ['a', 'b', 'c', 'a']) await cache.get(subject, '', read)
  expect(reads()).toBe(4)
})
