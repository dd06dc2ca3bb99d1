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
