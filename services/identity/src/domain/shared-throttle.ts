import type { Logger } from '@atrium/kernel/log'
import { type AttemptLimit, readWait, returnAttempt, takeAttempt } from '../queries/attempts.ts'
import type { IdentityDatabase } from '../queries/tables.ts'
import { type AttemptThrottle, createAttemptThrottle } from './attempt-throttle.ts'

/** Attempts that failed, or that cost something, counted over all processes. */
export interface SharedThrottle {
  /** Counts an attempt under both limits, unless one is reached. @returns whole seconds to wait; 0 when it may go on */
  take(limit: AttemptLimit, and?: AttemptLimit): Promise<number>
  /** Takes one back: it was counted before its outcome was known. */
  forgive(...limits: readonly AttemptLimit[]): Promise<void>
  /** Whole seconds to wait, without counting. */
  waitSeconds(limit: AttemptLimit): Promise<number>
}

const CAPACITY = 20_000

/** While the database is away each process counts for itself: slower guessing is better than none. */
export function createSharedThrottle(db: IdentityDatabase, log: Logger): SharedThrottle {
  const local = new Map<string, AttemptThrottle>()
  const localOf = ({ burst, everySeconds }: AttemptLimit): AttemptThrottle => {
    const kind = `${burst} ${everySeconds}`
    const known = local.get(kind) ?? createAttemptThrottle({ burst, everySeconds, capacity: CAPACITY })
    local.set(kind, known)
    return known
  }
  const orLocally = <T>(shared: Promise<T>, own: () => T): Promise<T> =>
    shared.catch((error: unknown) => {
      log.warn({ err: error }, 'counting attempts in the database failed; this process counts for itself')
      return own()
    })

  return {
    async take(limit, and) {
      const wait = await orLocally(takeAttempt(db, limit, and), () => {
        const limits = and === undefined ? [limit] : [limit, and]
        const longest = Math.max(...limits.map((each) => localOf(each).waitSeconds(each.key)))
        if (longest === 0) for (const each of limits) localOf(each).failed(each.key)
        return longest
      })
      return Math.ceil(wait)
    },
    forgive: (...limits) =>
      orLocally(returnAttempt(db, limits), () => {
        for (const each of limits) localOf(each).forgive(each.key)
      }),
    waitSeconds: async (limit) =>
      Math.ceil(await orLocally(readWait(db, limit), () => localOf(limit).waitSeconds(limit.key))),
  }
}
