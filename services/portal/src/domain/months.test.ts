import { expect, test } from 'vitest'
import { isCompleted, spanOf } from './months.ts'

test('a month ends where the next begins', () => {
  expect(spanOf('2026-02')).toEqual({ from: '2026-02-01', until: '2026-03-01' })
  expect(spanOf('2026-12')).toEqual({ from: '2026-12-01', until: '2027-01-01' })
})

test('a month is completed when it is over in UTC', () => {
  const now = new Date('2026-03-01T00:00:00.000Z')
  expect(isCompleted('2026-02', now)).toBe(true)
  expect(isCompleted('2026-03', now)).toBe(false)
  expect(isCompleted('2026-02', new Date(now.getTime() - 1))).toBe(false)
})
