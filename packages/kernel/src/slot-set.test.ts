import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { SlotSet } from './slot-set.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as (options?: { type: 'minor' }) => void

const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')?.space_used_size ?? 0

interface Item {
  readonly payload: readonly number[]
}

const ROUNDS = 20
const A_ROUND = 2000

/** Bytes that became old while items came and went, 32 of them at a time, each of a kilobyte. */
function aged(add: (item: Item) => () => void): number {
  const leave: (() => void)[] = []
  const comeAndGo = (): void => {
    for (let i = 0; i < A_ROUND; i++) {
      leave.push(add({ payload: Array.from({ length: 128 }, (_, at) => at + 0.5) }))
      if (leave.length > 32) leave.shift()?.()
    }
  }
  comeAndGo()
  // All that is there becomes old.
  collect()
  const before = oldBytes()
  for (let round = 0; round < ROUNDS; round++) {
    comeAndGo()
    collect({ type: 'minor' })
  }
  return oldBytes() - before
}

describe('SlotSet', () => {
  it('holds what is in it, whatever came and went', () => {
    const set = new SlotSet<{ id: number }>()
    const slots = [0, 1, 2, 3].map((id) => set.add({ id }))
    set.delete(slots[1] ?? -1)
    set.delete(slots[2] ?? -1)
    set.add({ id: 4 })
    expect(set.size).toBe(3)
    expect(set.values().map(({ id }) => id)).toEqual([0, 4, 3])
  })

  it('lets young objects that left it be collected while they are young, which a Set does not', () => {
    const slots = new SlotSet<Item>()
    const plain = new Set<Item>()
    const withSlots = aged((item) => {
      const slot = slots.add(item)
      return () => slots.delete(slot)
    })
    const withSet = aged((item) => {
      plain.add(item)
      return () => plain.delete(item)
    })
    const came = ROUNDS * A_ROUND * 1024
    expect(withSlots).toBeLessThan(came / 20)
    expect(withSet).toBeGreaterThan(came / 4)
  })
})
