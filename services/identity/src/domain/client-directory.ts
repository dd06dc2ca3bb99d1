import { findClientWithSecrets } from '../queries/clients.ts'
import type { ClientStatus, IdentityDatabase } from '../queries/tables.ts'
import { BoundedMap } from './bounded-map.ts'

/** What authentication needs to know about a client. */
export interface KnownClient {
  readonly clientId: string
  readonly name: string
  readonly status: ClientStatus
  readonly tokenLifetimeSeconds: number
  /** SHA-256 of each secret that is valid now. */
  readonly hashes: readonly Buffer[]
}

/** Clients, read at most `FRESH_MS` ago: what is disabled stops working within a second, everywhere. */
export interface ClientDirectory {
  find(clientId: string): Promise<KnownClient | undefined>
  /** The answer of `find` where it is at hand: null for a client that does not exist, undefined when it must be asked. */
  peek(clientId: string): KnownClient | null | undefined
  forget(clientId: string): void
  forgetAll(): void
}

/** Shorter than the second that revocation may take; announcements make it shorter still. */
const FRESH_MS = 800
const CAPACITY = 10_000
const CLIENT_ID = /^[\x21-\x7e]{1,128}$/

/** Ids that can be stored; anything else is no client of ours, and never reaches the database. */
export const isClientId = (text: string): boolean => CLIENT_ID.test(text)

interface Entry {
  readonly client: KnownClient | undefined
  readonly readAt: number
}

export function createClientDirectory(db: IdentityDatabase): ClientDirectory {
  const entries = new BoundedMap<string, Entry>(CAPACITY)
  const loading = new Map<string, Promise<KnownClient | undefined>>()

  async function read(clientId: string): Promise<KnownClient | undefined> {
    const row = await findClientWithSecrets(db, clientId)
    if (row === undefined) return undefined
    return {
      clientId: row.client_id,
      name: row.name,
      status: row.status,
      tokenLifetimeSeconds: row.token_lifetime_seconds,
      hashes: row.hashes.map((hash) => Buffer.from(hash, 'hex')),
    }
  }

  function load(clientId: string): Promise<KnownClient | undefined> {
    const readAt = performance.now()
    const promise: Promise<KnownClient | undefined> = read(clientId).then(
      (client) => {
        // Forgotten meanwhile: what was read may be older than the change.
        if (loading.get(clientId) === promise) {
          loading.delete(clientId)
          entries.set(clientId, { client, readAt })
        }
        return client
      },
      (error: unknown) => {
        if (loading.get(clientId) === promise) loading.delete(clientId)
        throw error
      },
    )
    loading.set(clientId, promise)
    return promise
  }

  const fresh = (clientId: string): Entry | undefined => {
    const entry = entries.get(clientId)
    return entry !== undefined && performance.now() - entry.readAt < FRESH_MS ? entry : undefined
  }

  return {
    async find(clientId) {
      if (!isClientId(clientId)) return undefined
      const entry = fresh(clientId)
      return entry === undefined ? (loading.get(clientId) ?? load(clientId)) : entry.client
    },
    peek(clientId) {
      const entry = fresh(clientId)
      return entry === undefined ? undefined : (entry.client ?? null)
    },
    forget(clientId) {
      entries.delete(clientId)
      loading.delete(clientId)
    },
    forgetAll() {
      entries.clear()
      loading.clear()
    },
  }
}
