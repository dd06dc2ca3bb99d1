import { describe, expect, it } from 'vitest'
import { isUuid, newId } from './ids.ts'

describe('newId', () => {
  it('makes UUIDv7 strings that carry the time', () => {
    const now = Date.now() + 60_000
    const id = newId(now)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
    expect(Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)).toBe(now)
  })

  it('sorts in the order of making, also within a millisecond and when the clock goes back', () => {
    const now = Date.now() + 120_000
    const ids = Array.from({ length: 10_000 }, (_, i) => newId(now - (i % 3)))
    expect(ids).toEqual([...ids].sort())
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('isUuid', () => {
  it.each([
    ['018f3b2a-0000-7000-8000-000000000000', true],
    ['018F3B2A-0000-7000-8000-000000000000', true],
    ['018f3b2a00007000800000000000000', false],
    ["' OR 1=1 --", false],
    ['', false],
  ])('%s → %s', (value, expected) => expect(isUuid(value)).toBe(expected))
})
