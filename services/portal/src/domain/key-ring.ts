import { hash, randomUUID } from 'node:crypto'
import type { KeyPrincipal } from '@atrium/access'
import { isUuid } from '@atrium/kernel/ids'
import { LRUCache } from 'lru-cache'
import type { AccessQueries, StoredKey } from '../queries/access.ts'
import { type AccessChanges, subjectOf } from './access-changes.ts'
import { MAX_AGE_MS } from './directory.ts'

/** A new key, and what is kept of it: a hash, and four characters to tell keys apart by. */
export function createKey(): { value: string; hash: string; lastFour: string } {
  const value = randomUUID()
  return { value, hash: hashKey(value), lastFour: value.slice(-4) }
}

/** SHA-256, hex. A key is 122 random bits, so there is nothing a slow hash would protect. */
export const hashKey = (rawKey: string): string => hash('sha256', rawKey.toLowerCase(), 'hex')

/** A key, and what the gateway must know before it serves it. */
export interface LimitedKey extends KeyPrincipal {
  /** Calls in a minute, instead of the gateway's own limit; null: that one holds. */
  readonly requestsPerMinute: number | null
  /** Whose budget of the running month (UTC) is used up, the key's or its space's; null: neither. */
  readonly usedUpBudget: 'key' | 'space' | null
}

export type KeyLookup =
  | { readonly status: 'valid'; readonly principal: LimitedKey }
  | { readonly status: 'unknown' | 'revoked' | 'expired' }

interface Remembered {
  readonly readAt: number
  readonly lookup: KeyLookup
  readonly expiresAtMs: number
}

interface Reading {
  readonly startedAt: number
  lookup: Promise<KeyLookup>
  /** Cleared by a change: who waits gets the answer, but it is not remembered. */
  keep: boolean
}

const UNKNOWN: KeyLookup = { status: 'unknown' }
const REVOKED: KeyLookup = { status: 'revoked' }
const EXPIRED: KeyLookup = { status: 'expired' }

function lookupOf(row: StoredKey | undefined): KeyLookup {
  if (row === undefined) return UNKNOWN
  if (row.status === 'Revoked') return REVOKED
  const { keyId, spaceId, name, requestsPerMinute, usedUpBudget } = row
  return {
    status: 'valid',
    principal: { kind: 'key', keyId, spaceId, name, requestsPerMinute, usedUpBudget },
  }
}

/**
 * Looks keys up by their hash. A key in use costs at most one query per 0.8 s and process, and one hash
 * and one map look-up otherwise. Keys that do not exist are remembered apart, so guessing evicts nobody.
 */
export class KeyRing {
  readonly #known = new LRUCache<string, Remembered>({ max: 50_000 })
  readonly #unknown = new LRUCache<string, Remembered>({ max: 10_000 })
  readonly #readings = new Map<string, Reading>()
  readonly #queries: AccessQueries
  readonly #onUse: (key: KeyPrincipal) => void

  /** @param onUse called for each look-up of a valid key; it must be cheap */
  constructor(queries: AccessQueries, changes: AccessChanges, onUse: (key: KeyPrincipal) => void) {
    this.#queries = queries
    this.#onUse = onUse
    changes.onChange((subject) => this.#forget(subject))
  }

  async find(rawKey: string): Promise<KeyLookup> {
    if (!isUuid(rawKey)) return UNKNOWN
    const keyHash = hashKey(rawKey)
    const lookup = this.#remembered(keyHash) ?? (await this.#read(keyHash))
    if (lookup.status === 'valid') this.#onUse(lookup.principal)
    return lookup
  }

  #remembered(keyHash: string): KeyLookup | undefined {
    const entry = this.#known.get(keyHash) ?? this.#unknown.get(keyHash)
    if (entry === undefined || performance.now() - entry.readAt >= MAX_AGE_MS) return undefined
    return entry.expiresAtMs <= Date.now() ? EXPIRED : entry.lookup
  }

  #read(keyHash: string): Promise<KeyLookup> {
    const now = performance.now()
    const current = this.#readings.get(keyHash)
    // A reading that hangs is not waited for by ever more callers: its answer would be too old.
    if (current?.keep === true && now - current.startedAt < MAX_AGE_MS) return current.lookup
    const reading: Reading = { startedAt: now, lookup: Promise.resolve(UNKNOWN), keep: true }
    reading.lookup = this.#readAndKeep(keyHash, reading)
    this.#readings.set(keyHash, reading)
    return reading.lookup
  }

  async #readAndKeep(keyHash: string, reading: Reading): Promise<KeyLookup> {
    try {
      const row = await this.#queries.keyByHash(keyHash)
      const fresh: Remembered = {
        readAt: reading.startedAt,
        lookup: lookupOf(row),
        expiresAtMs: row?.status === 'Active' ? row.expiresAt.getTime() : Number.POSITIVE_INFINITY,
      }
      if (reading.keep) (row === undefined ? this.#unknown : this.#known).set(keyHash, fresh)
      if (reading.keep && row !== undefined) this.#unknown.delete(keyHash)
      return fresh.expiresAtMs <= Date.now() ? EXPIRED : fresh.lookup
    } finally {
      if (this.#readings.get(keyHash) === reading) this.#readings.delete(keyHash)
    }
  }

  #forget(subject: string | undefined): void {
    if (subject === undefined) {
      this.#known.clear()
      this.#unknown.clear()
      for (const reading of this.#readings.values()) reading.keep = false
      return
    }
    if (!subject.startsWith(subjectOf.key(''))) return
    const keyHash = subject.slice(subjectOf.key('').length)
    this.#known.delete(keyHash)
    this.#unknown.delete(keyHash)
    const reading = this.#readings.get(keyHash)
    if (reading !== undefined) reading.keep = false
  }
}
