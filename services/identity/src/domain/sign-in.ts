import { isIPv6 } from 'node:net'
import type { Account, Accounts } from './accounts.ts'
import { createAttemptThrottle } from './attempt-throttle.ts'
import type { IdentityMetrics } from './metrics.ts'

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

/** One household or machine has a whole /64 of IPv6. */
export function addressBlock(address: string): string {
  if (!isIPv6(address)) return address
  if (address.startsWith('::ffff:') && address.includes('.')) return address.slice(7)
  const [head = '', tail] = address.split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail === undefined || tail === '' ? [] : tail.split(':')
  const gap = tail === undefined ? [] : Array.from({ length: 8 - front.length - back.length }, () => '0')
  return [...front, ...gap, ...back]
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}

/**
 * Failures count per account and address, so that nobody locks a person out from elsewhere, and per
 * address, so that one address does not try one password on all accounts.
 */
export function createPasswordCheck(accounts: Accounts, metrics: IdentityMetrics): PasswordCheck {
  const perAccount = createAttemptThrottle({ burst: 5, everySeconds: 30, capacity: 20_000 })
  const perAddress = createAttemptThrottle({ burst: 50, everySeconds: 5, capacity: 20_000 })
  return {
    async attempt(qxId, password, address) {
      const block = addressBlock(address)
      const key = `${block} ${qxId.slice(0, 128)}`
      const wait = Math.ceil(Math.max(perAccount.waitSeconds(key), perAddress.waitSeconds(block)))
      if (wait > 0) {
        metrics.signIn('throttled')
        return { outcome: 'throttled', waitSeconds: wait }
      }
      // Counted before the outcome is known: attempts that run side by side must not all pass.
      perAccount.failed(key)
      perAddress.failed(block)
      const account = await accounts.verifyPassword(qxId, password)
      metrics.signIn(account === undefined ? 'refused' : 'accepted')
      if (account === undefined) return { outcome: 'refused' }
      perAccount.forgive(key)
      perAddress.forgive(block)
      return { outcome: 'accepted', account }
    },
  }
}
