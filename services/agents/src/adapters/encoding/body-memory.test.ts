import { describe, expect, it, vi } from 'vitest'
import { SharedBodyMemory } from './body-memory.ts'

const MIB = 1024 * 1024

describe('memory of bodies', () => {
  it('is used again, shared, and has room to spare', () => {
    const memory = new SharedBodyMemory()
    const first = memory.take(10 * MIB)
    expect(first.buffer).toBeInstanceOf(SharedArrayBuffer)
    expect(first.length).toBeGreaterThanOrEqual(10 * MIB)
    const second = memory.take(10 * MIB)
    expect(second.buffer).not.toBe(first.buffer)
    memory.giveBack(first.subarray(5, 100))
    expect(memory.take(11 * MIB).buffer).toBe(first.buffer)
    expect(memory.take(11 * MIB).buffer).not.toBe(first.buffer)
  })

  it('is not lent for a body that it is far too large for, or too small', () => {
    const memory = new SharedBodyMemory()
    const large = memory.take(20 * MIB)
    memory.giveBack(large)
    expect(memory.take(2 * MIB).buffer).not.toBe(large.buffer)
    expect(memory.take(30 * MIB).buffer).not.toBe(large.buffer)
    expect(memory.take(20 * MIB).buffer).toBe(large.buffer)
  })

  it('of small and of huge bodies is theirs alone, and freed at once', () => {
    const memory = new SharedBodyMemory()
    for (const bytes of [100, 64 * MIB]) {
      const body = memory.take(bytes)
      expect(body.length).toBe(bytes)
      memory.giveBack(body.subarray(1))
      expect((body.buffer as ArrayBuffer).detached).toBe(true)
      memory.giveBack(body)
    }
  })

  it('waits for bodies to come up to a size and a time', () => {
    vi.useFakeTimers()
    try {
      const memory = new SharedBodyMemory()
      const bodies = Array.from({ length: 6 }, () => memory.take(25 * MIB))
      for (const body of bodies) memory.giveBack(body)
      const kept = bodies.map(() => memory.take(25 * MIB).buffer)
      expect(bodies.filter(({ buffer }) => kept.includes(buffer)).length).toBe(4)
      memory.giveBack(bodies[0] as Buffer)
      vi.advanceTimersByTime(60_000)
      expect(memory.take(25 * MIB).buffer).not.toBe(bodies[0]?.buffer)
    } finally {
      vi.useRealTimers()
    }
  })
})
