import { createDatabase, type Kysely, type Pool, sql, type Transaction } from '@atrium/kernel/db'
import { AppError } from '@atrium/kernel/errors'
import type { Logger } from '@atrium/kernel/log'
import type { ReplayStore } from '../domain/journal-replay.ts'
import type { UsageStore } from '../domain/usage-recorder.ts'
import type { CostRecorder, UsageRow } from '../ports.ts'
import {
  advanceJournal,
  deleteJournal,
  insertUnrecordedUsage,
  lockJournal,
} from '../queries/usage-journals.ts'

/** An error about the data itself, which trying again cannot mend: SQLSTATE class 22 or 23, or a 4xx. */
function isRefusal(error: unknown): boolean {
  if (error instanceof AppError) return error.status < 500
  const { code } = error as { code?: unknown }
  return typeof code === 'string' && /^2[23]/.test(code)
}

/** Usage on its way into the portal's costs, exactly once. */
export function createUsageStore(options: {
  pool: Pool
  costs: CostRecorder
  log: Logger
}): UsageStore & ReplayStore {
  const db: Kysely<unknown> = createDatabase(options.pool)

  async function recordOneByOne(trx: Transaction<unknown>, rows: readonly UsageRow[]): Promise<void> {
    for (const row of rows) {
      await sql`SAVEPOINT one_row`.execute(trx)
      try {
        await options.costs.recordUsage(trx, [row])
      } catch (error) {
        if (!isRefusal(error)) throw error
        await sql`ROLLBACK TO SAVEPOINT one_row`.execute(trx)
        await insertUnrecordedUsage(trx, row, (error as Error).message)
        options.log.error(
          { err: error, usage: row },
          'usage was refused and set aside in gateway.unrecorded_usage',
        )
      }
    }
  }

  /** One row that the portal refuses (a space deleted meanwhile) must not hold up all the others. */
  async function transact(
    act: (trx: Transaction<unknown>, record: (rows: readonly UsageRow[]) => Promise<void>) => Promise<void>,
  ): Promise<void> {
    try {
      await db.transaction().execute((trx) => act(trx, (rows) => options.costs.recordUsage(trx, rows)))
    } catch (error) {
      if (!isRefusal(error)) throw error
      await db.transaction().execute((trx) => act(trx, (rows) => recordOneByOne(trx, rows)))
    }
  }

  return {
    record: (journalId, offset, rows) =>
      transact(async (trx, record) => {
        if (await advanceJournal(trx, journalId, offset)) await record(rows)
      }),
    replay: (journalId, read) =>
      transact(async (trx, record) => {
        const left = await read(await lockJournal(trx, journalId))
        if (left === undefined) return
        if (left.rows.length > 0) await record(left.rows)
        await advanceJournal(trx, journalId, left.offset)
      }),
    forget: (journalId) => deleteJournal(db, journalId),
  }
}
