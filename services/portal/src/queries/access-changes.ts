import { type QueryExecutorProvider, sql } from 'kysely'

/** Notifications go out when the transaction commits, and not at all when it does not. */
export async function notifyAccess(
  trx: QueryExecutorProvider,
  channel: string,
  subjects: readonly string[],
): Promise<void> {
  await sql`SELECT pg_notify(${channel}, subject) FROM unnest(${subjects}::text[]) AS subject`.execute(trx)
}
