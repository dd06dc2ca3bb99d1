import {
  type BudgetSubject,
  deleteLeases,
  type KeptLease,
  keepLeases,
  LEASE_SECONDS,
  type LeaseRow,
  lockBudget,
  upsertLease,
} from '../queries/budget-leases.ts'
import type { PortalDb } from '../queries/tables.ts'

/** What a process sets aside of budgets for the calls that it lets in: all processes together never more than is left. */
export interface BudgetLeases {
  /** Seconds after which a lease that was neither asked for again nor kept is anybody's. */
  readonly seconds: number
  /**
   * Sets aside what `holder` uses and needs of a budget, or what is left of it. Amounts are decimal text.
   * @returns undefined where there is no budget
   */
  lease(
    holder: string,
    subject: BudgetSubject,
    ask: { readonly inUse: string; readonly needed: string },
  ): Promise<LeaseRow | undefined>
  /** Lowers leases to what is still needed, 0 to give them back. @returns the ids of the keys and spaces that it still has */
  keep(holder: string, leases: readonly KeptLease[]): Promise<string[]>
  /** Gives all back. */
  giveBack(holder: string): Promise<void>
}

/** @param currency the platform's, in which budgets are set */
export const createBudgetLeases = (db: PortalDb, currency: string): BudgetLeases => ({
  seconds: LEASE_SECONDS,
  lease: (holder, subject, ask) =>
    db.transaction().execute(async (trx) => {
      await lockBudget(trx, subject)
      return upsertLease(trx, subject, holder, ask, currency)
    }),
  keep: (holder, leases) => keepLeases(db, holder, leases),
  giveBack: (holder) => deleteLeases(db, holder),
})
