import type { Transaction } from '@atrium/kernel/db'
import type { IdentityDatabase, IdentityTables, PrincipalKind } from './tables.ts'

/** A transaction over whatever tables. */
export type RunningTransaction = Pick<Transaction<unknown>, 'isTransaction' | 'getExecutor'>

/** Identity's statements in a transaction of whoever began it. */
export const ownTables = (trx: RunningTransaction): IdentityDatabase =>
  (trx as Transaction<IdentityTables>).withSchema('identity')

/**
 * Claims an id that nobody has had; waits for others who claim it at the same moment.
 * @returns undefined when it is the caller's now, else what it stands for
 */
export async function claimId(
  trx: IdentityDatabase,
  principalId: string,
  kind: PrincipalKind,
): Promise<PrincipalKind | undefined> {
  const claimed = await trx
    .insertInto('principal_ids')
    .values({ principal_id: principalId, kind })
    .onConflict((conflict) => conflict.column('principal_id').doNothing())
    .executeTakeFirst()
  if (claimed.numInsertedOrUpdatedRows !== 0n) return undefined
  return findKindOfId(trx, principalId)
}

export async function findKindOfId(
  db: IdentityDatabase,
  principalId: string,
): Promise<PrincipalKind | undefined> {
  const row = await db
    .selectFrom('principal_ids')
    .select('kind')
    .where('principal_id', '=', principalId)
    .executeTakeFirst()
  return row?.kind
}
