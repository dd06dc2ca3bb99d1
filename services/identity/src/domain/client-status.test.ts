import { expect, test } from 'vitest'
import { mayBecome } from './client-status.ts'

test('nothing goes back to registration', () => {
  expect(mayBecome('Active', 'In Progress')).toBe(false)
  expect(mayBecome('Disabled', 'In Progress')).toBe(false)
  expect(mayBecome('In Progress', 'Active')).toBe(true)
  expect(mayBecome('Active', 'Disabled')).toBe(true)
  expect(mayBecome('Disabled', 'Active')).toBe(true)
  expect(mayBecome('Active', 'Active')).toBe(true)
})
