import { findClientWithSecrets } from '../queries/clients.ts'
import type { ClientStatus, IdentityDatabase } from '../queries/tables.ts'
import { createFreshCache } from './fresh-cache.ts'

/** What authentication needs to know about a client. */
export interface KnownClient {
  readonly clientId: string
  readonly name: string
  readonly status: ClientStatus
  readonly tokenLifetimeSeconds: number
  /** Milliseconds of the epoch: until then some of its tokens may be revoked. */
  readonly revocationsUntil: number
  /** SHA-256 of each secret that is valid now. */
  readonly hashes: readonly Buffer[]
}

/** Clients, never older than the freshness of the cache: what is disabled stops working within a second. */
export interface ClientDirectory {
  find(clientId: string): Promise<KnownClient | undefined>
  /** The answer of `find` where it is at hand: null for a client that does not exist, undefined when it must be asked. */
  peek(clientId: string): KnownClient | null | undefined
  forget(clientId: string): void
  forgetAll(): void
}

const CAPACITY = 10_000
const CLIENT_ID = /^[\x21-\x7e]{1,128}$/

/** Ids that can be stored; anything else is no client of ours, and never reaches the database. */
export const isClientId = (text: string): boolean => CLIENT_ID.test(text)

export function createClientDirectory(db: IdentityDatabase): ClientDirectory {
  const cache = createFreshCache(async (clientId): Promise<{ client: KnownClient | undefined }> => {
    const row = await findClientWithSecrets(db, clientId)
    if (row === undefined) return { client: undefined }
    return {
      client: {
        clientId: row.client_id,
        name: row.name,
        status: row.status,
        tokenLifetimeSeconds: row.token_lifetime_seconds,
        revocationsUntil: row.revocations_until?.getTime() ?? 0,
        hashes: row.hashes.map((hash) => Buffer.from(hash, 'hex')),
      },
    }
  }, CAPACITY)
  return {
    find: async (clientId) => (isClientId(clientId) ? (await cache.find(clientId)).client : undefined),
    peek(clientId) {
      const entry = cache.peek(clientId)
      return entry === undefined ? undefined : (entry.client ?? null)
    },
    forget: cache.forget,
    forgetAll: cache.forgetAll,
  }
}
