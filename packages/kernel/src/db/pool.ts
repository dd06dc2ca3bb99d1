import { Kysely, PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Logger } from '../log.ts'

const { INT8, DATE } = pg.types.builtins

/** bigint → number (our counts stay below 2^53), date → 'YYYY-MM-DD'; numeric stays a string: money is never a float. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') => {
    if (oid === INT8) return Number
    if (oid === DATE) return (text: string) => text
    return pg.types.getTypeParser(oid, format as 'text')
  },
}

/** @param options.max connections of this process; statements are cut off after `statementTimeoutMs` (30 s) */
export function createPool(
  url: string,
  options: { max: number; applicationName: string; log: Logger; statementTimeoutMs?: number },
): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: options.max,
    application_name: options.applicationName,
    statement_timeout: options.statementTimeoutMs ?? 30_000,
    idle_in_transaction_session_timeout: 30_000,
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    types,
  })
  // Without a listener a dropped idle connection would end the process.
  pool.on('error', (err) => {
    if (!pool.ending) options.log.warn({ err }, 'an idle database connection failed')
  })
  // The same for one that is in use between two queries; the next query rejects, and that is the error to handle.
  pool.on('connect', (client) => {
    client.on('error', (err) => options.log.debug({ err }, 'a database connection in use failed'))
  })
  return pool
}

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
