import { hash } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { ClientDirectory, KnownClient } from './client-directory.ts'
import { matchesAnyHash } from './client-secret.ts'
import type { SharedThrottle } from './shared-throttle.ts'

/** What came of a secret: whose it is, nobody's, or not even looked at. */
export type SecretCheck = { readonly matches: boolean } | { readonly waitSeconds: number }

const CAPACITY = 10_000
/** A secret that was right here so lately needs no look at the throttle. */
const TRUSTED_MS = 60_000

/**
 * Checks client secrets, and slows down who guesses: per client and address, so that nobody locks a client out from
 * elsewhere. Whoever keeps using the right secret costs the database nothing.
 */
export function createSecretCheck(clients: ClientDirectory, throttle: SharedThrottle) {
  const trusted = new LRUCache<string, true>({ max: CAPACITY, ttl: TRUSTED_MS })
  return async (clientId: string, secret: string, address: string): Promise<SecretCheck> => {
    const key = `secret ${address} ${clientId}`
    const limit = { key, burst: 10, everySeconds: 6 }
    const isRight = (client: KnownClient | undefined): boolean =>
      client !== undefined && matchesAnyHash(secret, client.hashes)
    if (!isRight(await clients.find(clientId)) && !isRight(await clients.findAnew(clientId))) {
      const waitSeconds = await throttle.take(limit)
      return waitSeconds > 0 ? { waitSeconds } : { matches: false }
    }
    const proof = `${key} ${hash('sha256', secret, 'base64')}`
    if (trusted.get(proof) === true) return { matches: true }
    const waitSeconds = await throttle.waitSeconds(limit)
    if (waitSeconds > 0) return { waitSeconds }
    trusted.set(proof, true)
    return { matches: true }
  }
}
