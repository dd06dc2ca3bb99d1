import { isUnavailable } from './errors.ts'

/** `unavailable`: it does not answer; `failed`: it answers that something is wrong. */
export type Health = 'ok' | 'unavailable' | 'failed'

/** Whether something that a process needs answers; never throws. */
export type HealthCheck = () => Promise<Health>

const TIMEOUT_MS = 2000
const MAX_AGE_MS = 250

/** Probes are public, so many callers share one call of `ask`, and its result for a quarter of a second. */
export function createHealthCheck(ask: () => Promise<unknown>): HealthCheck {
  let current: { startedAt: number; result: Promise<Health> } | undefined
  return () => {
    const now = performance.now()
    if (current === undefined || now - current.startedAt > MAX_AGE_MS) {
      current = { startedAt: now, result: healthOf(ask) }
    }
    return current.result
  }
}

async function healthOf(ask: () => Promise<unknown>): Promise<Health> {
  const { promise: tooLate, resolve } = Promise.withResolvers<Health>()
  const timer = setTimeout(() => resolve('unavailable'), TIMEOUT_MS)
  const answered = ask().then(
    (): Health => 'ok',
    (error: unknown): Health => (isUnavailable(error) ? 'unavailable' : 'failed'),
  )
  try {
    return await Promise.race([answered, tooLate])
  } finally {
    clearTimeout(timer)
  }
}
