import { describe, expect, it } from 'vitest'
import { Turns } from './turns.ts'

const round = () => new Promise((resolve) => setImmediate(resolve))

/** Notes who begins, in order. */
function starter(turns: Turns) {
  const begun: string[] = []
  const start = (name: string, onGone?: (leave: () => void) => void): void => {
    const turn = turns.take(name.charAt(0), onGone)
    if (turn === undefined) begun.push(name)
    else void turn.then((isTurn) => begun.push(isTurn ? name : `${name} left`))
  }
  return { begun, start }
}

describe('Turns', () => {
  it('lets so many begin at once, and as many in each round after it', async () => {
    const turns = new Turns(2)
    const { begun, start } = starter(turns)
    for (const name of ['a1', 'a2', 'a3', 'a4', 'a5']) start(name)
    expect([begun.length, turns.waiting]).toEqual([2, 3])
    await round()
    expect(begun).toEqual(['a1', 'a2', 'a3', 'a4'])
    await round()
    expect(begun).toEqual(['a1', 'a2', 'a3', 'a4', 'a5'])
    expect([turns.waiting, turns.tenants]).toEqual([0, 0])
    await round()
    start('a6')
    expect(begun.at(-1)).toBe('a6')
  })

  it('serves tenants in turn, whatever they have waiting', async () => {
    const turns = new Turns(1)
    const { begun, start } = starter(turns)
    for (let n = 0; n < 20; n++) start(`a${n}`)
    start('b0')
    start('c0')
    start('b1')
    for (let n = 0; n < 6; n++) await round()
    expect(begun).toEqual(['a0', 'a1', 'b0', 'c0', 'a2', 'b1', 'a3'])
    while (turns.waiting > 0) await round()
    expect(begun.filter((name) => name.startsWith('a'))).toEqual(
      Array.from({ length: 20 }, (_, n) => `a${n}`),
    )
  })

  it('keeps no place of those who leave', async () => {
    const turns = new Turns(1)
    const { begun, start } = starter(turns)
    const leaves: (() => void)[] = []
    const note = (leave: () => void): void => void leaves.push(leave)
    start('a0')
    for (const name of ['a1', 'a2', 'b1']) start(name, note)
    leaves[0]?.()
    leaves[2]?.()
    expect([turns.waiting, turns.tenants]).toEqual([1, 1])
    for (let n = 0; n < 3; n++) await round()
    for (const leave of leaves) leave()
    expect(begun).toEqual(['a0', 'a1 left', 'b1 left', 'a2'])
    expect([turns.waiting, turns.tenants]).toEqual([0, 0])
  })

  it('refuses whoever comes when too many of a tenant wait, or of all', async () => {
    const refusal = () => new Error('too busy')
    const turns = new Turns(1, { ofTenant: 3, ofAll: 5, refusal })
    const { start } = starter(turns)
    start('a0')
    for (const name of ['a1', 'a2', 'a3']) start(name)
    expect(() => start('a4')).toThrow('too busy')
    for (const name of ['b1', 'b2']) start(name)
    expect(() => start('b3')).toThrow('too busy')
    expect(() => start('c1')).toThrow('too busy')
    expect([turns.waiting, turns.tenants]).toEqual([5, 2])
    await round()
    start('c1')
    expect(turns.waiting).toBe(5)
  })
})
