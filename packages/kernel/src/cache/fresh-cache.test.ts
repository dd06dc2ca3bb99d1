import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { unavailable } from '../errors.ts'
import { FreshCache, type FreshCacheOptions } from './fresh-cache.ts'

const NEVER_OLD = 1_000_000

/** A database of one number per key that counts how often it is read, and can be away. */
function source() {
  const values = new Map<string, number>()
  const database = {
    reads: 0,
    isAway: false,
    isKnownToBeAway: false,
    pause: undefined as Promise<void> | undefined,
  }
  const outage = {
    get isAway() {
      return database.isKnownToBeAway
    },
    staleMs: 60_000,
  }
  async function read(key: string): Promise<number> {
    database.reads++
    if (database.isAway) throw unavailable()
    const value = values.get(key) ?? -1
    await database.pause
    return value
  }
  const cacheOf = (options: Partial<FreshCacheOptions<number>> = {}): FreshCache<number> =>
    new FreshCache({ read, outage, maxEntries: 10, freshMs: NEVER_OLD, ...options })
  return { values, database, outage, cacheOf }
}

test('one reading serves all who ask meanwhile, until it is too old', async () => {
  const { values, database, cacheOf } = source()
  const cache = cacheOf({ freshMs: 60 })
  values.set('a', 1)
  await Promise.all([cache.find('a'), cache.find('a'), cache.find('a')])
  expect(database.reads).toBe(1)
  values.set('a', 2)
  await delay(70)
  expect(cache.peek('a')).toBeUndefined()
  expect(await cache.find('a')).toBe(2)
})

test('age counts from the beginning of the reading, not from its end', async () => {
  const { values, database, cacheOf } = source()
  const cache = cacheOf({ freshMs: 50 })
  values.set('a', 1)
  database.pause = delay(60)
  await cache.find('a')
  expect(cache.peek('a')).toBeUndefined()
})

test('what is forgotten while it is read is not kept', async () => {
  const { values, database, cacheOf } = source()
  const cache = cacheOf()
  const pause = Promise.withResolvers<void>()
  database.pause = pause.promise
  values.set('a', 1)
  const slow = cache.find('a')
  values.set('a', 2)
  cache.forget('a')
  const next = cache.find('a')
  pause.resolve()
  expect(await slow).toBe(1)
  expect(await next).toBe(2)
  expect(cache.peek('a')).toBe(2)
})

test('an older reading that ends later does not replace a newer one', async () => {
  const { values, database, cacheOf } = source()
  const cache = cacheOf({ freshMs: 20 })
  const pause = Promise.withResolvers<void>()
  database.pause = pause.promise
  values.set('a', 1)
  const slow = cache.find('a')
  await delay(30)
  database.pause = undefined
  values.set('a', 2)
  expect(await cache.find('a')).toBe(2)
  pause.resolve()
  await slow
  database.isKnownToBeAway = true
  expect(cache.peek('a')).toBe(2)
})

test('forgetting a subject forgets all about it, readings under way included, and nothing else', async () => {
  const { values, database, cacheOf } = source()
  const cache = cacheOf({ subjectOf: (key) => key.charAt(0) })
  for (const key of ['ax', 'ay', 'bx']) values.set(key, 1)
  await cache.find('ax')
  await cache.find('bx')
  const pause = Promise.withResolvers<void>()
  database.pause = pause.promise
  const slow = cache.find('ay')
  cache.forget('a')
  pause.resolve()
  await slow
  expect(['ax', 'ay', 'bx'].map((key) => cache.peek(key))).toEqual([undefined, undefined, 1])
})

test('a failed reading is not kept', async () => {
  const { values, database, cacheOf } = source()
  const cache = cacheOf()
  database.isAway = true
  await expect(cache.find('a')).rejects.toMatchObject({ code: 'unavailable' })
  database.isAway = false
  values.set('a', 7)
  expect(await cache.find('a')).toBe(7)
})

test('it stays within its bounds, and absent ones evict nobody', async () => {
  const { values, cacheOf } = source()
  const cache = cacheOf({ maxEntries: 2, isAbsent: (value) => value === -1, subjectOf: (key) => key })
  values.set('a', 1)
  await cache.find('a')
  for (const key of ['p', 'q', 'r', 's']) expect(await cache.find(key)).toBe(-1)
  expect(['p', 'a', 's'].map((key) => cache.peek(key))).toEqual([undefined, 1, -1])
  for (const key of ['b', 'c']) {
    values.set(key, 2)
    await cache.find(key)
  }
  expect(['a', 'b', 'c'].map((key) => cache.peek(key))).toEqual([undefined, 2, 2])
})

test('while the database is away, what was known stays good, until it is too old', async () => {
  const { values, database, outage, cacheOf } = source()
  const cache = cacheOf({ freshMs: 0 })
  values.set('a', 1)
  await cache.find('a')
  database.isAway = true
  expect(cache.peek('a')).toBeUndefined()
  expect(await cache.find('a')).toBe(1)
  const { reads } = database
  database.isKnownToBeAway = true
  expect(await cache.find('a')).toBe(1)
  expect(database.reads).toBe(reads)
  await expect(cache.find('b')).rejects.toMatchObject({ status: 503, code: 'unavailable' })
  outage.staleMs = 0
  await expect(cache.find('a')).rejects.toMatchObject({ status: 503, code: 'unavailable' })
})

test('errors of another kind are no outage', async () => {
  const { values, outage, cacheOf } = source()
  let error: Error | undefined
  const read = async (key: string): Promise<number> => {
    if (error !== undefined) throw error
    return values.get(key) ?? -1
  }
  const cache = cacheOf({ read, outage, freshMs: 0 })
  await cache.find('a')
  error = new Error('syntax error')
  await expect(cache.find('a')).rejects.toThrow('syntax error')
})

test('what was forgotten does not come back in an outage', async () => {
  const { values, database, cacheOf } = source()
  const cache = cacheOf({ freshMs: 0 })
  values.set('a', 1)
  await cache.find('a')
  cache.forget('a')
  database.isAway = true
  await expect(cache.find('a')).rejects.toMatchObject({ code: 'unavailable' })
  database.isKnownToBeAway = true
  await expect(cache.find('a')).rejects.toMatchObject({ code: 'unavailable' })
})

test('what changes while it is in use is read again at once, and known in the next outage', async () => {
  const { values, database, cacheOf } = source()
  const cache = cacheOf()
  values.set('a', 1)
  await cache.find('a')
  values.set('a', 2)
  cache.refresh('a')
  cache.refresh('never asked for')
  expect(database.reads).toBe(2)
  await expect.poll(() => cache.peek('a')).toBe(2)
})

test('after a gap in the announcements all is read again, but serves where the database is away', async () => {
  const { values, database, cacheOf } = source()
  const cache = cacheOf()
  values.set('a', 1)
  await cache.find('a')
  await delay(1)
  cache.outdate()
  expect(cache.peek('a')).toBeUndefined()
  database.isAway = true
  expect(await cache.find('a')).toBe(1)
})

test('that something does not exist is not known for longer than it is fresh', async () => {
  const { database, cacheOf } = source()
  const cache = cacheOf({ freshMs: 0, isAbsent: (value) => value === -1 })
  expect(await cache.find('a')).toBe(-1)
  database.isAway = true
  database.isKnownToBeAway = true
  await expect(cache.find('a')).rejects.toMatchObject({ code: 'unavailable' })
})

test('what a rare change concerns is forgotten, for an outage too, and the rest is not', async () => {
  const { values, database, cacheOf } = source()
  const cache = cacheOf()
  values.set('a', 1).set('b', 2).set('c', 2)
  for (const key of values.keys()) await cache.find(key)
  let go = (): void => {}
  database.pause = new Promise((resolve) => {
    go = resolve
  })
  values.set('d', 2)
  const underWay = cache.find('d')
  cache.forgetWhere((key, value) => key === 'a' || value === 2)
  go()
  await underWay
  values.set('e', 5)
  expect(await cache.find('e')).toBe(5)
  database.isAway = true
  database.isKnownToBeAway = true
  for (const key of ['a', 'b', 'c', 'd']) {
    await expect(cache.find(key)).rejects.toMatchObject({ code: 'unavailable' })
  }
  expect(await cache.find('e')).toBe(5)
})
