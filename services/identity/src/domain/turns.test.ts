import { expect, test } from 'vitest'
import { createTurns } from './turns.ts'

test('runs so many at once, lets so many wait, and refuses the rest', async () => {
  const inTurn = createTurns(2, 3)
  let active = 0
  let most = 0
  const work = async () => {
    active += 1
    most = Math.max(most, active)
    await new Promise((resolve) => setTimeout(resolve, 5))
    active -= 1
  }
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => inTurn(work)))
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(5)
  expect(most).toBe(2)
})

test('a failure frees its place', async () => {
  const inTurn = createTurns(1, 1)
  await expect(inTurn(() => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect(await inTurn(async () => 'yes')).toBe('yes')
})
