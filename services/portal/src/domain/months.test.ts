import { expect, test } from 'vitest'
import { spanOf } from './months.ts'

test('a month ends where the next begins', () => {
  expect(spanOf('2026-02')).toEqual({ from: '2026-02-01', until: '2026-03-01' })
  expect(spanOf('2026-12')).toEqual({ from: '2026-12-01', until: '2027-01-01' })
})
