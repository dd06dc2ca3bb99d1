import { expect, test } from 'vitest'
import { createAttemptThrottle } from './attempt-throttle.ts'

function throttleAt(capacity: number) {
  const clock = { now: 0 }
  const throttle = createAttemptThrottle({ burst: 3, everySeconds: 10, capacity, now: () => clock.now })
  return { clock, throttle }
}

test('lets a burst through, then one failure per interval', () => {
  const { clock, throttle } = throttleAt(10)
  for (let i = 0; i < 3; i++) {
    expect(throttle.waitSeconds('a')).toBe(0)
    throttle.failed('a')
  }
  expect(throttle.waitSeconds('a')).toBe(10)
  expect(throttle.waitSeconds('b')).toBe(0)
  clock.now = 10
  expect(throttle.waitSeconds('a')).toBe(0)
  throttle.failed('a')
  expect(throttle.waitSeconds('a')).toBe(10)
  clock.now = 1000
  expect(throttle.waitSeconds('a')).toBe(0)
})

test('remembers a bounded number of keys', () => {
  const { throttle } = throttleAt(100)
  for (let i = 0; i < 3; i++) throttle.failed('first')
  for (let i = 0; i < 100; i++) throttle.failed(`k${i}`)
  expect(throttle.waitSeconds('first')).toBe(0)
})

test('what was counted beforehand can be taken back', () => {
  const { throttle } = throttleAt(10)
  for (let i = 0; i < 10; i++) {
    expect(throttle.waitSeconds('a')).toBe(0)
    throttle.failed('a')
    throttle.forgive('a')
  }
})
