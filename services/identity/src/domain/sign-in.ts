import { networkOf } from '@atrium/access'
import type { Account, Accounts } from './accounts.ts'
import type { IdentityMetrics } from './metrics.ts'
import type { SharedThrottle } from './shared-throttle.ts'

/** What came of an attempt: who it is, nobody, or not even looked at. */
export type Attempt =
  | { readonly outcome: 'accepted'; readonly account: Account }
  | { readonly outcome: 'refused' }
  | { readonly outcome: 'throttled'; readonly waitSeconds: number }

/** Checks passwords for whoever offers one, and slows down who guesses. */
export interface PasswordCheck {
  /**
   * @param address where the attempt comes from
   * @throws AppError 503 when too many wait
   */
  attempt(qxId: string, password: string, address: string): Promise<Attempt>
}

/**
 * Failures count per account and address, so that nobody locks a person out from elsewhere, and per
 * address, so that one address does not try one password on all accounts; over all processes.
 */
export function createPasswordCheck(
  accounts: Accounts,
  throttle: SharedThrottle,
  metrics: IdentityMetrics,
): PasswordCheck {
  return {
    async attempt(qxId, password, address) {
      const network = networkOf(address)
      const perAccount = { key: `password ${network} ${qxId.slice(0, 128)}`, burst: 5, everySeconds: 30 }
      const perAddress = { key: `password ${network}`, burst: 50, everySeconds: 5 }
      // Counted before the outcome is known: attempts that run side by side must not all pass.
      const waitSeconds = await throttle.take(perAccount, perAddress)
      if (waitSeconds > 0) {
        metrics.signIn('throttled')
        return { outcome: 'throttled', waitSeconds }
      }
      const account = await accounts.verifyPassword(qxId, password)
      metrics.signIn(account === undefined ? 'refused' : 'accepted')
      if (account === undefined) return { outcome: 'refused' }
      await throttle.forgive(perAccount, perAddress)
      return { outcome: 'accepted', account }
    },
  }
}
