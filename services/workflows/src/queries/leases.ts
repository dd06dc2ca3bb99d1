import { sql } from '@atrium/kernel/db'
import type { WorkflowsDb } from './tables.ts'

/**
 * Takes, or keeps, work that one process does for all.
 * @param holder names the process
 * @returns whether it is this process's for so long
 */
export async function takeLease(
  db: WorkflowsDb,
  name: string,
  holder: string,
  forMs: number,
): Promise<boolean> {
  const { rows } = await sql`
    INSERT INTO workflows.leases AS known (name, holder, until)
    VALUES (${name}, ${holder}, now() + ${forMs} * interval '1 millisecond')
    ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until
      WHERE known.holder = excluded.holder OR known.until < now()
    RETURNING 1`.execute(db)
  return rows.length > 0
}

/** Leaves it to whoever comes next. */
export async function releaseLease(db: WorkflowsDb, name: string, holder: string): Promise<void> {
  await db.deleteFrom('workflows.leases').where('name', '=', name).where('holder', '=', holder).execute()
}
