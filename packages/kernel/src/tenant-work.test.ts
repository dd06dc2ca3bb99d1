import { expect, it } from 'vitest'
import { TenantTurns } from './tenant-work.ts'

it('a process is shared once requests of a second tenant come', () => {
  const turns = new TenantTurns({ ofTenant: 1, ofAll: 1, refusal: () => new Error('too busy') })
  expect(turns.isShared).toBe(false)
  for (let n = 0; n < 3; n++) turns.note('a')
  expect(turns.isShared).toBe(false)
  turns.note('b')
  expect(turns.isShared).toBe(true)
})
