import { expect, test } from 'vitest'
import { BoundedMap } from './bounded-map.ts'

test('forgets what was used longest ago', () => {
  const map = new BoundedMap<string, number>(2)
  map.set('a', 1)
  map.set('b', 2)
  expect(map.get('a')).toBe(1)
  map.set('c', 3)
  expect([map.get('a'), map.get('b'), map.get('c'), map.size]).toEqual([1, undefined, 3, 2])
})

test('writing a key again takes no more room', () => {
  const map = new BoundedMap<string, number>(2)
  for (let i = 0; i < 10; i++) map.set('a', i)
  map.set('b', 1)
  expect([map.get('a'), map.size]).toEqual([9, 2])
  map.delete('a')
  expect(map.get('a')).toBeUndefined()
})
