import { describe, expect, it } from 'vitest'
import { Turns, TurnsOfEach } from './turns.ts'

/** Work that ends when told to. */
function held() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { promise, release: resolve }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('Turns', () => {
  it('runs so many at once, the rest in their order', async () => {
    const turns = new Turns(2)
    const begun: number[] = []
    const gates = Array.from({ length: 5 }, held)
    const runs = gates.map(({ promise }, index) =>
      turns.run(async () => {
        begun.push(index)
        await promise
        return index * 10
      }),
    )
    await settled()
    expect(begun).toEqual([0, 1])
    gates[1]?.release()
    await settled()
    expect(begun).toEqual([0, 1, 2])
    gates[0]?.release()
    gates[2]?.release()
    await settled()
    expect(begun).toEqual([0, 1, 2, 3, 4])
    for (const { release } of gates) release()
    expect(await Promise.all(runs)).toEqual([0, 10, 20, 30, 40])
  })

  it('passes failures on, and gives their place to the next', async () => {
    const turns = new Turns(1)
    const failing = turns.run(async () => {
      throw new Error('broken')
    })
    const next = turns.run(async () => 'done')
    await expect(failing).rejects.toThrow('broken')
    expect(await next).toBe('done')
    expect(await turns.run(async () => 'again')).toBe('again')
  })

  it('never runs more than it may, whoever comes while others leave', async () => {
    const turns = new Turns(3)
    let running = 0
    let most = 0
    const work = async (): Promise<void> => {
      running++
      most = Math.max(most, running)
      await settled()
      running--
    }
    const first = Array.from({ length: 10 }, () => turns.run(work))
    await settled()
    const later = Array.from({ length: 10 }, () => turns.run(work))
    await Promise.all([...first, ...later])
    expect([most, running]).toEqual([3, 0])
  })
})

describe('TurnsOfEach', () => {
  it('lets nobody wait for others, and each for their own', async () => {
    const turns = new TurnsOfEach(2)
    const begun: string[] = []
    const gates = new Map(['a1', 'a2', 'a3', 'b1'].map((name) => [name, held()]))
    const runs = [...gates].map(([name, gate]) =>
      turns.run(name.charAt(0), async () => {
        begun.push(name)
        await gate.promise
      }),
    )
    await settled()
    expect(begun).toEqual(['a1', 'a2', 'b1'])
    gates.get('b1')?.release()
    await settled()
    expect(begun).toEqual(['a1', 'a2', 'b1'])
    gates.get('a2')?.release()
    await settled()
    expect(begun).toEqual(['a1', 'a2', 'b1', 'a3'])
    for (const { release } of gates.values()) release()
    await Promise.all(runs)
    expect(await turns.run('a', async () => 'again')).toBe('again')
  })
})
