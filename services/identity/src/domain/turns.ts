import { tooBusy } from '../errors.ts'

/**
 * Lets so many pieces of work run at once and so many wait.
 * @throws AppError 503 from the returned function when too many wait already
 */
export function createTurns(running: number, waiting: number): <T>(work: () => Promise<T>) => Promise<T> {
  let active = 0
  const queue: (() => void)[] = []
  return async (work) => {
    if (active >= running) {
      if (queue.length >= waiting) throw tooBusy()
      // Whoever ends hands its place over, so the count stays.
      await new Promise<void>((resolve) => queue.push(resolve))
    } else active += 1
    try {
      return await work()
    } finally {
      const next = queue.shift()
      if (next === undefined) active -= 1
      else next()
    }
  }
}
