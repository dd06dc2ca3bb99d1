import { Socket } from 'node:net'
import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Outage } from '../cache/fresh-cache.ts'
import { isUnavailable, unavailable } from '../errors.ts'
import type { Logger } from '../log.ts'
import { FairShare } from './fair-share.ts'
import { isUnavailableCode, probe } from './probe.ts'
import { Watch } from './watch.ts'

const { INT8, DATE } = pg.types.builtins

/** bigint → number (our counts stay below 2^53), date → 'YYYY-MM-DD'; numeric stays a string: money is never a float. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    if (oid === INT8) return Number
    if (oid === DATE) return (text: string) => text
    return pg.types.getTypeParser(oid, format as 'text')
  },
}

/** A statement that the server cut off is answered within this time. */
const ANSWER_MS = 10_000

/** A tenant holds at most one of so many connections of the pool. */
const TENANT_SHARE = 4

export interface PoolOptions {
  /** Connections of this process. */
  readonly max: number
  readonly applicationName: string
  readonly log: Logger
  /** Statements are cut off after this time; 30 s by default, 0: never. */
  readonly statementTimeoutMs?: number
  /** How long what was read stays good while the database is away; 60 s by default. */
  readonly staleSeconds?: number
}

type Connected = (
  error: Error | undefined,
  client: pg.PoolClient | undefined,
  done: (release?: boolean | Error) => void,
) => void

/**
 * Connections to the database, and whether it answers. While it does not, nobody waits: what is asked fails at once
 * with 503 `unavailable`, and what is under way when it falls silent does so within four seconds.
 */
export class DatabasePool extends pg.Pool {
  readonly #watch: Watch
  readonly #sockets: Set<Socket>
  readonly #share: FairShare
  /** What caches go by, and readiness. */
  readonly outage: Outage & {
    /** How long the database has been known not to answer, in milliseconds; 0 where it answers. */
    readonly lastedMs: number
  }

  constructor(url: string, options: PoolOptions) {
    const sockets = new Set<Socket>()
    const statementTimeoutMs = options.statementTimeoutMs ?? 30_000
    super({
      connectionString: url,
      max: options.max,
      application_name: options.applicationName,
      statement_timeout: statementTimeoutMs,
      idle_in_transaction_session_timeout: 30_000,
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
      types,
      stream: () => {
        const socket = new Socket()
        sockets.add(socket)
        return socket.once('close', () => sockets.delete(socket))
      },
    })
    const { log } = options
    this.#sockets = sockets
    this.#share = new FairShare(Math.max(1, Math.floor(options.max / TENANT_SHARE)))
    const watch = new Watch({
      probe: (pids) => probe(url, pids),
      onHang: () => this.#hangUp(),
      longestMs: statementTimeoutMs === 0 ? undefined : statementTimeoutMs + ANSWER_MS,
      log,
    })
    this.#watch = watch
    this.outage = {
      get isAway() {
        return watch.isAway
      },
      get lastedMs() {
        return watch.awayMs
      },
      staleMs: (options.staleSeconds ?? 60) * 1000,
    }
    // Without a listener a dropped idle connection would end the process.
    this.on('error', (err) => {
      if (this.ending) return
      log.debug({ err }, 'an idle database connection failed')
      watch.suspect()
    })
    this.on('connect', (client) => {
      // The same for one that is in use between two queries; the next query rejects, and that is the error to handle.
      client.on('error', (err) => {
        log.debug({ err }, 'a database connection in use failed')
        watch.suspect()
      })
      watchQueries(client, watch)
    })
    // The driver's own passes on what the connection's events say, instead of what the query ends with.
    Object.assign(this, { query: (...args: unknown[]) => this.#query(args) })
  }

  async #query(args: unknown[]): Promise<unknown> {
    const client = await this.connect()
    let isBroken = false
    try {
      return await (client.query as (...args: unknown[]) => unknown)(...args)
    } catch (error) {
      isBroken = isUnavailable(error)
      throw error
    } finally {
      client.release(isBroken)
    }
  }

  override connect(): Promise<pg.PoolClient>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<pg.PoolClient> | undefined {
    const connected = this.#connectInTurn()
    if (callback === undefined) return connected
    connected.then(
      (client) => callback(undefined, client, client.release),
      (error: Error) => callback(error, undefined, () => {}),
    )
    return undefined
  }

  async #connectInTurn(): Promise<pg.PoolClient> {
    const turn = await this.#share.take()
    try {
      const client = await this.#connect()
      const { release } = client
      client.release = (destroy) => {
        release.call(client, destroy)
        turn()
      }
      return client
    } catch (error) {
      turn()
      throw error
    }
  }

  #connect(): Promise<pg.PoolClient> {
    if (this.#watch.isAway) return Promise.reject(unavailable())
    return new Promise((resolve, reject) => {
      let isOver = false
      const fail = (error: unknown): void => {
        isOver = true
        reject(error)
      }
      const end = this.#watch.begin(undefined, () => {
        end(false)
        fail(unavailable())
      })
      super.connect().then(
        (client) => {
          if (isOver) return client.release()
          end(true)
          resolve(client)
        },
        (error: unknown) => {
          const answered = error instanceof pg.DatabaseError
          end(answered)
          if (!this.ending && (!answered || isUnavailableCode(error.code))) {
            this.#watch.suspect()
            fail(unavailable(error))
          } else fail(error)
        },
      )
    })
  }

  /** Nothing will come of these connections; those that wait for them are told. */
  #hangUp(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  override end(): Promise<void>
  override end(callback: () => void): void
  override end(callback?: () => void): Promise<void> | undefined {
    const { isAway } = this.#watch
    this.#watch.close()
    const ended = super.end().finally(() => {
      if (isAway) this.#hangUp()
    })
    if (callback === undefined) return ended
    void ended.then(callback)
    return undefined
  }
}

/** Lets the watch see each query of a connection, and says of those that break off that the database is unavailable. */
function watchQueries(client: pg.PoolClient, watch: Watch): void {
  const pid = (client as { processID?: number | null }).processID ?? undefined
  const query = client.query.bind(client) as (...args: unknown[]) => unknown
  const translated = (error: unknown): unknown => {
    if (error instanceof pg.DatabaseError) return isUnavailableCode(error.code) ? unavailable(error) : error
    return client.connection.stream.destroyed ? unavailable(error) : error
  }
  const watched = async (...args: unknown[]): Promise<unknown> => {
    const end = watch.begin(pid, () => client.connection.stream.destroy())
    try {
      const result = await query(...args)
      end(true)
      return result
    } catch (error) {
      end(error instanceof pg.DatabaseError)
      throw translated(error)
    }
  }
  // The driver offers no hook around its queries. Only their form with a promise is used.
  Object.assign(client, { query: watched })
}

/** A pool for this process; the database need not answer yet. */
export const createPool = (url: string, options: PoolOptions): DatabasePool => new DatabasePool(url, options)

/** A typed query builder over the pool; `Tables` is the service's own table interface. */
export function createDatabase<Tables>(pool: pg.Pool): Kysely<Tables> {
  return new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) })
}

const hasCode = (error: unknown, code: string, constraint: string | undefined): boolean =>
  error instanceof pg.DatabaseError &&
  error.code === code &&
  (constraint === undefined || error.constraint === constraint)

/** SQLSTATE 23505, optionally of one named constraint. */
export const isUniqueViolation = (error: unknown, constraint?: string): boolean =>
  hasCode(error, '23505', constraint)

/** SQLSTATE 23503, optionally of one named constraint. */
export const isForeignKeyViolation = (error: unknown, constraint?: string): boolean =>
  hasCode(error, '23503', constraint)
