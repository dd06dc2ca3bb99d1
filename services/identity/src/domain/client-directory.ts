import { FreshCache, type Outage } from '@atrium/kernel/cache'
import { findClientWithSecrets } from '../queries/clients.ts'
import type { ClientStatus, IdentityDatabase } from '../queries/tables.ts'

/** What authentication needs to know about a client. */
export interface KnownClient {
  readonly clientId: string
  readonly name: string
  readonly status: ClientStatus
  readonly tokenLifetimeSeconds: number
  /** Milliseconds of the epoch. */
  readonly createdAt: number
  /** Milliseconds of the epoch: when it was disabled last, 0 for never. */
  readonly tokensValidFrom: number
  /** Milliseconds of the epoch: until then some of its tokens may be revoked. */
  readonly revocationsUntil: number
  /** SHA-256 of each secret that is valid now. */
  readonly hashes: readonly Buffer[]
}

/**
 * Clients, never older than the freshness of the cache: what is disabled stops working within a second. While the
 * database is away, those that are known stay so for a while.
 */
export interface ClientDirectory {
  find(clientId: string): Promise<KnownClient | undefined>
  /** The answer of `find` where it is at hand: null for a client that does not exist, undefined when it must be asked. */
  peek(clientId: string): KnownClient | null | undefined
  /** Asks the database, whatever is remembered: a refusal must not be older than the change that the caller just made. */
  findAnew(clientId: string): Promise<KnownClient | undefined>
  /** It changed. */
  refresh(clientId: string): void
  /** Changes may have been missed. */
  outdate(): void
}

const CAPACITY = 10_000
const CLIENT_ID = /^[\x21-\x7e]{1,128}$/

/** Ids that can be stored; anything else is no client of ours, and never reaches the database. */
export const isClientId = (text: string): boolean => CLIENT_ID.test(text)

export function createClientDirectory(db: IdentityDatabase, outage: Outage): ClientDirectory {
  async function read(clientId: string): Promise<{ client: KnownClient | undefined }> {
    const row = await findClientWithSecrets(db, clientId)
    if (row === undefined) return { client: undefined }
    return {
      client: {
        clientId: row.client_id,
        name: row.name,
        status: row.status,
        tokenLifetimeSeconds: row.token_lifetime_seconds,
        createdAt: row.created_at.getTime(),
        tokensValidFrom: row.tokens_valid_from?.getTime() ?? 0,
        revocationsUntil: row.revocations_until?.getTime() ?? 0,
        hashes: row.hashes.map((hash) => Buffer.from(hash, 'hex')),
      },
    }
  }
  const isAbsent = ({ client }: { client: KnownClient | undefined }): boolean => client === undefined
  const cache = new FreshCache({ read, isAbsent, outage, maxEntries: CAPACITY })
  const find = async (clientId: string): Promise<KnownClient | undefined> =>
    isClientId(clientId) ? (await cache.find(clientId)).client : undefined
  return {
    find,
    findAnew(clientId) {
      // In an outage what is known is all there is, and must not be lost to somebody's guesses.
      if (!outage.isAway) cache.forget(clientId)
      return find(clientId)
    },
    peek(clientId) {
      const entry = cache.peek(clientId)
      return entry === undefined ? undefined : (entry.client ?? null)
    },
    refresh: (clientId) => cache.refresh(clientId),
    outdate: () => cache.outdate(),
  }
}
