import type { Act, AuditChange } from '@atrium/access'
import type { AgentsContext } from '../context.ts'
import type { AgentsDb } from '../queries/tables.ts'

/**
 * Changes something and notes it in the audit log: both or neither.
 * @param change answers undefined where there was nothing to change; then nothing is noted
 * @param entry what the log says of it: names and numbers, never what prompts, messages or chunks contain
 */
export async function audited<T>(
  ctx: Pick<AgentsContext, 'db' | 'audit'>,
  act: Act,
  change: (trx: AgentsDb) => Promise<T | undefined>,
  entry: (changed: T) => AuditChange,
): Promise<T | undefined> {
  return ctx.db.transaction().execute(async (trx) => {
    const changed = await change(trx)
    if (changed !== undefined) await ctx.audit.record(trx, act, entry(changed))
    return changed
  })
}

/** The names of the fields that a change gives. */
export const namesOf = (changes: object): string[] =>
  Object.entries(changes).flatMap(([name, value]) => (value === undefined ? [] : [name]))
