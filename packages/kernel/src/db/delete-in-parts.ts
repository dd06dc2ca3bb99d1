import { type QueryExecutorProvider, type RawBuilder, sql } from 'kysely'

const ROWS_AT_A_TIME = 5000

/**
 * Deletes the rows of a table that meet a condition, so many at a time that no statement takes long. May be repeated.
 * @param table with its schema, e.g. `portal.invitations`
 */
export async function deleteInParts(
  db: QueryExecutorProvider,
  table: string,
  condition: RawBuilder<unknown>,
): Promise<void> {
  const rows = sql.table(table)
  let deleted: bigint | undefined
  do {
    const { numAffectedRows } = await sql`DELETE FROM ${rows} WHERE ctid = ANY(ARRAY(
      SELECT ctid FROM ${rows} WHERE ${condition} LIMIT ${ROWS_AT_A_TIME}))`.execute(db)
    deleted = numAffectedRows
  } while (deleted === BigInt(ROWS_AT_A_TIME))
}
