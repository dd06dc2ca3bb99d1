import { deleteInParts, sql } from '@atrium/kernel/db'
import type { AgentsDb } from './tables.ts'

/** Spaces that this service keeps anything of. */
export async function selectSpacesWithData(db: AgentsDb): Promise<string[]> {
  const { rows } = await sql<{ space_id: string }>`
    SELECT space_id FROM agents.agents UNION SELECT space_id FROM agents.vector_stores`.execute(db)
  return rows.map((row) => row.space_id)
}

/** Children first: deleting an agent with all its messages would be one long statement. */
const REMOVED = ['agents.messages', 'agents.threads', 'agents.agents'] as const
/**
 * Deletes the agents of a space with their conversations, so many rows at a time that no statement takes long, and marks
 * its vector stores for the sweep, which deletes their files. May be repeated.
 */
export async function deleteSpaceRows(db: AgentsDb, spaceId: string): Promise<void> {
  await sql`UPDATE agents.vector_stores SET status = 'deleting', updated_at = now()
    WHERE space_id = ${spaceId} AND status = 'active'`.execute(db)
  for (const table of REMOVED) await deleteInParts(db, table, sql`space_id = ${spaceId}`)
}
