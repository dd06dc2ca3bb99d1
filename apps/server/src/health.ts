import type { DatabasePool } from '@atrium/kernel/db'
import { createHealthCheck } from '@atrium/kernel/health'
import type { HttpServer } from '@atrium/kernel/http'

/** `away`: it does not answer, but what is known is still good. */
type State = 'ok' | 'away' | 'failed'
type Check = () => Promise<State>

export interface HealthOptions {
  readonly pool: Pick<DatabasePool, 'query' | 'outage'>
  /** Readiness says no, so that a load balancer sends no more requests. */
  isDraining(): boolean
}

/** Calls with known keys are served for a while without the database: to take the process out before would end that. */
function createDatabaseCheck(pool: HealthOptions['pool']): Check {
  const check = createHealthCheck(() => pool.query('SELECT 1'))
  return async () => {
    const health = await check()
    if (health !== 'unavailable') return health
    return pool.outage.lastedMs < pool.outage.staleMs ? 'away' : 'failed'
  }
}

/**
 * The process's own probes, whatever services it runs: `/healthz` says that it answers at all, `/readyz` that it
 * should get requests. Both are public and never limited.
 */
export function mountHealth(app: HttpServer, { pool, isDraining }: HealthOptions): void {
  const all: Readonly<Record<string, Check>> = { database: createDatabaseCheck(pool) }
  app.get('/healthz', () => ({ status: 'alive' }))
  app.get('/readyz', async (_request, reply) => {
    const notReady = (message: string, checks?: Record<string, State>) =>
      reply.code(503).send({ status: 'not ready', checks, error: { code: 503, message } })
    if (isDraining()) return notReady('The server is shutting down')
    const entries = Object.entries(all).map(
      async ([name, check]): Promise<[string, State]> => [name, await check()],
    )
    const states = await Promise.all(entries)
    const checks = Object.fromEntries(states)
    const failed = states.filter(([, state]) => state === 'failed').map(([name]) => name)
    if (failed.length > 0) return notReady(`These do not answer: ${failed.join(', ')}`, checks)
    return { status: 'ready', checks }
  })
}
