import type { Transaction } from '@atrium/kernel/db'

/** Whom an API key stands for. */
export interface KeyHolder {
  readonly keyId: string
  readonly spaceId: string
  readonly name: string
  /** Calls in a minute, instead of the gateway's own limit; null or absent: that one holds. */
  readonly requestsPerMinute?: number | null
  /** Whose budget of the running month is used up; null or absent: nobody's. */
  readonly usedUpBudget?: 'key' | 'space' | null
  /** Whether calls are set aside of a budget of its own, and of its space's. */
  readonly hasBudget?: boolean
  readonly spaceHasBudget?: boolean
}

/** What the gateway needs of the portal: who a key is. */
export interface KeyDirectory {
  /** Undefined: unknown, revoked or expired. */
  findKey(rawKey: string): Promise<KeyHolder | undefined>
}

/** Use of one key and model on one day, since the last record of it. */
export interface UsageRow {
  readonly spaceId: string
  readonly keyId: string
  readonly keyName: string
  /** UTC, 'YYYY-MM-DD'. */
  readonly day: string
  readonly model: string
  readonly requests: number
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  /** How many of the requests the backend said no usage of, so that the gateway counted it. */
  readonly estimatedRequests: number
  /** Decimal text. */
  readonly cost: string
  readonly currency: string
}

/** What the gateway needs of the portal: where costs go. */
export interface CostRecorder {
  recordUsage(trx: Transaction<unknown>, rows: readonly UsageRow[]): Promise<void>
}

/** Whose budget: a key's, or the space's own (`keyId` null). */
export interface BudgetSubject {
  readonly spaceId: string
  readonly keyId: string | null
}

/** What the gateway needs of the portal: parts of budgets that all processes share. Amounts are decimal text. */
export interface BudgetLeases {
  /** A lease that is neither asked for again nor kept ends after so many seconds. */
  readonly seconds: number
  /**
   * Sets the holder's lease to what it uses and needs, or to what is left.
   * @returns what it has now, and what is left of the budget by what is recorded; undefined where there is no budget
   */
  lease(
    holder: string,
    subject: BudgetSubject,
    ask: { readonly inUse: string; readonly needed: string },
  ): Promise<{ readonly amount: string; readonly left: string } | undefined>
  /** Lowers leases, 0 to give them back, and prolongs them. @returns the ids of the keys and spaces that it still has */
  keep(holder: string, leases: readonly (BudgetSubject & { readonly amount: string })[]): Promise<string[]>
  giveBack(holder: string): Promise<void>
}
