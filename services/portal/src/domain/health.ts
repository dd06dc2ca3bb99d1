interface Queryable {
  query(text: string): Promise<unknown>
}

/** Whether the database answers; never throws. */
export type DatabaseCheck = () => Promise<boolean>

const TIMEOUT_MS = 2000
const MAX_AGE_MS = 250

/** Probes are public, so many callers share one query, and its result for a quarter of a second. */
export function createDatabaseCheck(pool: Queryable): DatabaseCheck {
  let current: { startedAt: number; result: Promise<boolean> } | undefined
  return () => {
    const now = performance.now()
    if (current === undefined || now - current.startedAt > MAX_AGE_MS) {
      current = { startedAt: now, result: probe(pool) }
    }
    return current.result
  }
}

async function probe(pool: Queryable): Promise<boolean> {
  const { promise: tooLate, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), TIMEOUT_MS)
  const answered = pool.query('SELECT 1').then(
    () => true,
    () => false,
  )
  try {
    return await Promise.race([answered, tooLate])
  } finally {
    clearTimeout(timer)
  }
}
