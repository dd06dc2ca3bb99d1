import { describe, expect, it } from 'vitest'
import { FairSemaphore } from './fair-semaphore.ts'

describe('FairSemaphore', () => {
  it('runs so many at once, and of those that wait one of each tenant in turn', async () => {
    const semaphore = new FairSemaphore(2)
    const begun: string[] = []
    let atOnce = 0
    let most = 0
    const work = (name: string) => async () => {
      begun.push(name)
      most = Math.max(most, ++atOnce)
      await new Promise((resolve) => setImmediate(resolve))
      atOnce -= 1
      return name
    }
    const names = ['a1', 'a2', 'a3', 'a4', 'a5', 'b1', 'b2', 'c1']
    const runs = names.map((name) => semaphore.run(name[0] ?? '', work(name)))
    expect([semaphore.waitingOf('a'), semaphore.waitingOf('b'), semaphore.waitingOf('x')]).toEqual([3, 2, 0])
    expect(await Promise.all(runs)).toEqual(names)
    expect(begun).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2', 'a5'])
    expect(most).toBe(2)
    expect(semaphore.waitingOf('a')).toBe(0)
  })

  it('passes failures on, and gives their place to the next', async () => {
    const semaphore = new FairSemaphore(1)
    const failing = semaphore.run('a', () => Promise.reject(new Error('no')))
    const next = semaphore.run('b', async () => 'yes')
    await expect(failing).rejects.toThrow('no')
    expect(await next).toBe('yes')
    expect(await semaphore.run('a', async () => 'free')).toBe('free')
  })
})
