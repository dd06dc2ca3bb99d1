import { sql } from '@atrium/kernel/db'
import type { WorkflowsDb } from './tables.ts'

/** Of what a space may have so many. */
export type Kind = 'workflows' | 'versions' | 'configurations' | 'secrets' | 'triggers' | 'enabled schedules'

/** Where they are. */
const rowsOf = (kind: Kind) =>
  kind === 'enabled schedules'
    ? sql`(SELECT space_id FROM workflows.triggers WHERE next_at IS NOT NULL) AS schedules`
    : sql.table(`workflows.${kind}`)

/**
 * Whether a space has more of a kind than it may, rows of this transaction included. Until its end nobody else adds to
 * them: call it after one was added.
 */
export async function hasTooMany(
  trx: WorkflowsDb,
  kind: Kind,
  spaceId: string,
  most: number,
): Promise<boolean> {
  await sql`SELECT pg_advisory_xact_lock(hashtextextended(${`workflows.${kind}/${spaceId.toLowerCase()}`}, 0))`.execute(
    trx,
  )
  // A statement of its own: it sees what whoever held the lock before has committed.
  const { rows } = await sql`
    SELECT FROM ${rowsOf(kind)} WHERE space_id = ${spaceId} OFFSET ${most} LIMIT 1`.execute(trx)
  return rows.length > 0
}
