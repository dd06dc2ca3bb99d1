import { createHealthCheck } from '@atrium/kernel/health'

interface Queryable {
  query(text: string): Promise<unknown>
}

/** Whether the database answers; never throws. */
export type DatabaseCheck = () => Promise<boolean>

/** Probes are public, so many callers share one query. */
export function createDatabaseCheck(pool: Queryable): DatabaseCheck {
  const check = createHealthCheck(() => pool.query('SELECT 1'))
  return async () => (await check()) === 'ok'
}
