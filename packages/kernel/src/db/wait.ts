import { setTimeout as delay } from 'node:timers/promises'
import { isUnavailable, OperatorError } from '../errors.ts'
import type { Logger } from '../log.ts'
import type { DatabasePool } from './pool.ts'

const WAIT_MS = 30_000
const PAUSE_MS = 500
const SAY_EVERY_MS = 10_000

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** A server that is silent gives no reason. */
const whyAway = ({ cause }: Error): string => (cause === undefined ? 'it says nothing' : reasonOf(cause))

/**
 * Waits for a database that starts at the same time as this process.
 * @throws OperatorError after 30 s, and at once when the server answers but does not let us in
 */
export async function waitForDatabase(
  pool: DatabasePool,
  { log, waitMs = WAIT_MS }: { log: Logger; waitMs?: number },
): Promise<void> {
  const deadline = performance.now() + waitMs
  let reason: string | undefined
  let saidAt = Number.NEGATIVE_INFINITY
  for (;;) {
    try {
      await pool.query('SELECT 1')
      return
    } catch (error) {
      if (!isUnavailable(error)) {
        throw new OperatorError(`The database refuses the connection: ${reasonOf(error)}`, { cause: error })
      }
      // Only the first failure knows why: afterwards nobody asks.
      reason ??= whyAway(error)
      if (performance.now() > deadline) {
        throw new OperatorError(
          `The database of DATABASE_URL did not answer within ${Math.round(waitMs / 1000)} s: ${reason}`,
          { cause: error },
        )
      }
      if (performance.now() - saidAt >= SAY_EVERY_MS) {
        saidAt = performance.now()
        log.info({ reason }, 'waiting for the database')
      }
      await delay(PAUSE_MS)
    }
  }
}
