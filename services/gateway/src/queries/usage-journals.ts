import { type Kysely, sql, type Transaction } from '@atrium/kernel/db'

/**
 * Moves a journal's mark forward.
 * @returns false when it stood there already: what lies before it is recorded
 */
export async function advanceJournal(
  trx: Transaction<unknown>,
  journalId: string,
  offset: number,
): Promise<boolean> {
  const { rows } = await sql`
    INSERT INTO gateway.usage_journals AS j (journal_id, flushed_bytes) VALUES (${journalId}, ${offset})
    ON CONFLICT (journal_id) DO UPDATE SET flushed_bytes = excluded.flushed_bytes, updated_at = now()
      WHERE j.flushed_bytes < excluded.flushed_bytes
    RETURNING 1`.execute(trx)
  return rows.length > 0
}

/** Locks the journal's row, making it if need be, and reads its mark. */
export async function lockJournal(trx: Transaction<unknown>, journalId: string): Promise<number> {
  await sql`INSERT INTO gateway.usage_journals (journal_id) VALUES (${journalId}) ON CONFLICT DO NOTHING`.execute(
    trx,
  )
  const { rows } = await sql<{ flushed_bytes: number }>`
    SELECT flushed_bytes FROM gateway.usage_journals WHERE journal_id = ${journalId} FOR UPDATE`.execute(trx)
  return rows[0]?.flushed_bytes ?? 0
}

export async function deleteJournal(db: Kysely<unknown>, journalId: string): Promise<void> {
  await sql`DELETE FROM gateway.usage_journals WHERE journal_id = ${journalId}`.execute(db)
}

/** Keeps a row that the portal refused, with its reason. */
export async function insertUnrecordedUsage(
  trx: Transaction<unknown>,
  usage: unknown,
  reason: string,
): Promise<void> {
  await sql`
    INSERT INTO gateway.unrecorded_usage (usage, reason) VALUES (${JSON.stringify(usage)}, ${reason})`.execute(
    trx,
  )
}
