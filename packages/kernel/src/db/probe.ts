import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import type { Found } from './watch.ts'

const PROBE_MS = 2000

/** SQLSTATEs of a server that ends the session, or takes none: class 08, shutdowns, recovery, too many of them. */
const UNAVAILABLE = new Set(['57P01', '57P02', '57P03', '53300'])

/** Whether the server's error says that it is unavailable to this connection, and nothing about the statement. */
export const isUnavailableCode = (code: string | undefined): boolean =>
  code !== undefined && (UNAVAILABLE.has(code) || code.startsWith('08'))

/** The caller's own session and those of `$1` that it works for now. */
const SESSIONS = `SELECT pg_backend_pid() AS own,
  coalesce((SELECT array_agg(pid) FROM pg_stat_activity WHERE pid = ANY($1::int[]) AND state = 'active'), '{}') AS working`

async function ask(client: pg.Client, pids: readonly number[]): Promise<Found> {
  await client.connect()
  const { rows } = await client.query<{ own: number; working: number[] }>(SESSIONS, [pids])
  const { own, working = [] } = rows[0] ?? {}
  // Behind a pooler the numbers that clients are told are not the server's.
  const isDirect = own === (client as { processID?: number | null }).processID
  return { state: 'answers', working: isDirect ? new Set(working) : undefined }
}

/** A server that says why it takes no connection answers, unless it says that it is going or coming. */
function foundBy(error: unknown): Found {
  const isAnswer = error instanceof pg.DatabaseError && !error.code?.startsWith('57P')
  return isAnswer ? { state: 'answers', working: undefined } : { state: 'refuses', error }
}

/** Asks the server on a connection of its own, which does not wait for those that may be dead. */
export async function probe(url: string, pids: readonly number[]): Promise<Found> {
  const client = new pg.Client({ connectionString: url, application_name: 'atrium-probe' })
  client.on('error', () => {})
  const over = new AbortController()
  const pause = { signal: over.signal, ref: false }
  const tooLate = delay(PROBE_MS, undefined, pause)
    // An answer that came while this process was busy still counts.
    .then(() => delay(20, undefined, pause))
    .then((): Found => ({ state: 'hangs', error: new Error(`no answer within ${PROBE_MS} ms`) }))
  try {
    return await Promise.race([ask(client, pids).catch(foundBy), tooLate])
  } finally {
    over.abort()
    tooLate.catch(() => {})
    client.connection.stream.destroy()
  }
}
