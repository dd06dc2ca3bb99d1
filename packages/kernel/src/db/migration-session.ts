import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { OperatorError } from '../errors.ts'
import type { Logger } from '../log.ts'

const SECOND = 1000
const REPORT_EVERY_MS = 10 * SECOND

/** Whatever the role, the database or the server has set: a large table takes as long as it takes. */
const UNLIMITED = [
  'statement_timeout',
  'transaction_timeout',
  'idle_in_transaction_session_timeout',
  'idle_session_timeout',
]

/** `lock_not_available` and `deadlock_detected`: the transaction is rolled back, and may be tried again. */
const LOCKED = new Set(['55P03', '40P01'])

export interface MigrationSessionOptions {
  readonly log: Logger
  /** What runs meanwhile queues behind a lock that is waited for, so waits are short and repeated. */
  readonly lockTimeoutMs?: number
  readonly attempts?: number
  readonly pauseMs?: number
}

interface Holder {
  readonly pid: number
  readonly role: string | null
  readonly application: string | null
  readonly address: string | null
  readonly state: string | null
  readonly since: Date | null
}

/** Not what it asked: that may hold anybody's data. */
function describe({ pid, role, application, address, state, since }: Holder): string {
  if (pid === 0) return 'a prepared transaction (see pg_prepared_xacts)'
  const of = [
    role === null ? [] : `role ${role}`,
    application === null || application === '' ? [] : `application ${application}`,
    address === null ? [] : `from ${address}`,
    state === null ? [] : state,
    since === null ? [] : `in a transaction since ${since.toISOString()}`,
  ].flat()
  return `session ${pid}${of.length === 0 ? '' : ` (${of.join(', ')})`}`
}

/** Who holds, or waits earlier for, the locks that these sessions wait for. */
async function holdersOf(pool: pg.Pool, pids: readonly number[]): Promise<Holder[]> {
  const { rows } = await pool.query<Holder>(
    `SELECT DISTINCT b.pid, a.usename AS role, a.application_name AS application, host(a.client_addr) AS address,
            a.state, a.xact_start AS since
       FROM unnest($1::int[]) AS waiting, unnest(pg_blocking_pids(waiting)) AS b(pid)
       LEFT JOIN pg_stat_activity a ON a.pid = b.pid`,
    [pids],
  )
  return rows
}

/** Connections for changes of the schema: nothing cuts them off, but they do not wait for a lock for ever. */
export class MigrationSession {
  readonly pool: pg.Pool
  readonly log: Logger
  readonly #lockTimeoutMs: number
  readonly #attempts: number
  readonly #pauseMs: number
  readonly #pids = new Set<number>()

  constructor(url: string, options: MigrationSessionOptions) {
    this.log = options.log
    this.#lockTimeoutMs = options.lockTimeoutMs ?? 5 * SECOND
    this.#attempts = options.attempts ?? 12
    this.#pauseMs = options.pauseMs ?? 5 * SECOND
    this.pool = new pg.Pool({
      connectionString: url,
      // One works, and one looks what it waits for.
      max: 2,
      application_name: 'atrium-migrate',
      connectionTimeoutMillis: 10 * SECOND,
      keepAlive: true,
      onConnect: (client) => this.#prepare(client),
    })
    // The query that fails says so itself.
    this.pool.on('error', () => {})
  }

  async #prepare(client: pg.ClientBase): Promise<void> {
    client.on('error', () => {})
    await client.query("SELECT set_config(name, '0', false) FROM pg_settings WHERE name = ANY ($1)", [
      UNLIMITED,
    ])
    await client.query("SELECT set_config('lock_timeout', $1, false)", [String(this.#lockTimeoutMs)])
    const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
    if (rows[0] !== undefined) this.#pids.add(rows[0].pid)
  }

  /**
   * Runs what may wait for locks, again where it does so in vain, and logs every ten seconds that it goes on.
   * @param what it does, for the log: `migration portal/0002-clients`
   * @param work a transaction of its own, rolled back when it rejects
   * @throws OperatorError that names the lock's holders when all attempts are used up
   */
  async run<T>(what: string, work: () => Promise<T>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const watch = this.#watch(what)
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof pg.DatabaseError) || !LOCKED.has(error.code ?? '')) throw error
        const holders = watch.holders()
        if (attempt >= this.#attempts) {
          throw new OperatorError(
            `${what} was tried ${attempt} times and needs a lock that is held by ${holders}. Nothing of it was changed. Let that session end, or end it by SELECT pg_terminate_backend(<its number>), then start again.`,
            { cause: error },
          )
        }
        this.log.warn(
          `${what} needs a lock that is held by ${holders}; attempt ${attempt} of ${this.#attempts}`,
        )
      } finally {
        watch.stop()
      }
      await delay(this.#pauseMs)
    }
  }

  #watch(what: string): { holders(): string; stop(): void } {
    const since = performance.now()
    let reportedAt = since
    // Remembered, for the server tells it only while somebody waits.
    let last: readonly Holder[] = []
    const look = async (): Promise<void> => {
      const found = await holdersOf(this.pool, [...this.#pids]).catch(() => [])
      if (found.length > 0) last = found
      if (performance.now() - reportedAt < REPORT_EVERY_MS) return
      reportedAt = performance.now()
      const seconds = Math.round((reportedAt - since) / SECOND)
      const waits = found.length === 0 ? 'still runs' : `waits for ${found.map(describe).join(' and ')}`
      this.log.info(`${what} ${waits} after ${seconds} s`)
    }
    const timer = setInterval(() => void look(), Math.min(SECOND, this.#lockTimeoutMs / 4))
    return {
      holders: () => (last.length === 0 ? 'a session that is gone by now' : last.map(describe).join(' and ')),
      stop: () => clearInterval(timer),
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool.end()
  }
}
