import { describe, expect, it } from 'vitest'
import { KeyedSemaphore, Semaphore } from './semaphore.ts'

/** Work that ends when told to. */
function held() {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { promise, release: resolve }
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('Semaphore', () => {
  it('runs so many at once, the rest in their order', async () => {
    const semaphore = new Semaphore(2)
    const begun: number[] = []
    const gates = Array.from({ length: 5 }, held)
    const runs = gates.map(({ promise }, index) =>
      semaphore.run(async () => {
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
    expect([semaphore.length, semaphore.isIdle]).toEqual([2, false])
    expect(await Promise.all(runs)).toEqual([0, 10, 20, 30, 40])
    expect([semaphore.length, semaphore.isIdle]).toEqual([0, true])
  })

  it('passes failures on, and gives their place to the next', async () => {
    const semaphore = new Semaphore(1)
    const failing = semaphore.run(async () => {
      throw new Error('broken')
    })
    const next = semaphore.run(async () => 'done')
    await expect(failing).rejects.toThrow('broken')
    expect(await next).toBe('done')
    expect(await semaphore.run(async () => 'again')).toBe('again')
  })

  it('never runs more than it may, whoever comes while others leave', async () => {
    const semaphore = new Semaphore(3)
    let running = 0
    let most = 0
    const work = async (): Promise<void> => {
      running++
      most = Math.max(most, running)
      await settled()
      running--
    }
    const first = Array.from({ length: 10 }, () => semaphore.run(work))
    await settled()
    const later = Array.from({ length: 10 }, () => semaphore.run(work))
    await Promise.all([...first, ...later])
    expect([most, running]).toEqual([3, 0])
  })

  it('refuses whoever comes when too many wait', async () => {
    const semaphore = new Semaphore(2, { most: 3, refusal: () => new Error('too busy') })
    const gate = held()
    const runs = Array.from({ length: 10 }, () => semaphore.run(() => gate.promise))
    const outcomes = Promise.allSettled(runs)
    await settled()
    expect(semaphore.length).toBe(5)
    gate.release()
    const refused = (await outcomes).flatMap((outcome, index) =>
      outcome.status === 'rejected' ? [[index, String(outcome.reason)]] : [],
    )
    expect(refused).toEqual([5, 6, 7, 8, 9].map((index) => [index, 'Error: too busy']))
    await semaphore.run(async () => {})
  })
})

describe('KeyedSemaphore', () => {
  it('lets nobody wait for others, and each for their own', async () => {
    const semaphore = new KeyedSemaphore(2)
    const begun: string[] = []
    const gates = new Map(['a1', 'a2', 'a3', 'b1'].map((name) => [name, held()]))
    const runs = [...gates].map(([name, gate]) =>
      semaphore.run(name.charAt(0), async () => {
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
    expect(semaphore.size).toBe(0)
    expect(await semaphore.run('a', async () => 'again')).toBe('again')
  })

  it('counts nobody without work, and holds when one ends as another comes', async () => {
    const semaphore = new KeyedSemaphore(1)
    let running = 0
    let most = 0
    const work = async (): Promise<void> => {
      running++
      most = Math.max(most, running)
      await Promise.resolve()
      running--
    }
    const chain = async (ticks: number): Promise<void> => {
      for (let n = 0; n < 50; n++) {
        await semaphore.run('a', work)
        for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
      }
    }
    await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(chain))
    expect([most, running, semaphore.size]).toEqual([1, 0, 0])
  })
})
