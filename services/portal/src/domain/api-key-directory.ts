import { hash, randomUUID } from 'node:crypto'
import type { KeyPrincipal } from '@atrium/access'
import { FreshCache, type Outage } from '@atrium/kernel/cache'
import { isUuid } from '@atrium/kernel/ids'
import type { AccessQueries, StoredKey } from '../queries/access.ts'
import { type AccessChanges, spaceOf, subjectOf } from './access-changes.ts'

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
  /** Whether there is a budget of its own, and one of its space. */
  readonly hasBudget: boolean
  readonly spaceHasBudget: boolean
}

export type KeyLookup =
  | { readonly status: 'valid'; readonly principal: LimitedKey }
  | { readonly status: 'unknown' | 'revoked' | 'expired' }

interface Remembered {
  readonly lookup: KeyLookup
  readonly expiresAtMs: number
}

const KEY = subjectOf.key('')

const UNKNOWN: KeyLookup = { status: 'unknown' }
const REVOKED: KeyLookup = { status: 'revoked' }
const EXPIRED: KeyLookup = { status: 'expired' }

function lookupOf(row: StoredKey | undefined): KeyLookup {
  if (row === undefined) return UNKNOWN
  if (row.status === 'Revoked') return REVOKED
  const { keyId, spaceId, name, requestsPerMinute, usedUpBudget, hasBudget, spaceHasBudget } = row
  return {
    status: 'valid',
    principal: {
      kind: 'key',
      keyId,
      spaceId,
      name,
      requestsPerMinute,
      usedUpBudget,
      hasBudget,
      spaceHasBudget,
    },
  }
}

/** A key may expire while it is remembered. */
const lookupNow = ({ lookup, expiresAtMs }: Remembered): KeyLookup =>
  expiresAtMs <= Date.now() ? EXPIRED : lookup

/**
 * Looks keys up by their hash. A key in use costs at most one query per 0.8 s and process, and one hash
 * and one map look-up otherwise. Keys that do not exist are remembered apart, so guessing evicts nobody.
 */
export class ApiKeyDirectory {
  readonly #cache: FreshCache<Remembered>
  readonly #onUse: (key: KeyPrincipal) => void

  /** @param options.onUse called for each look-up of a valid key; it must be cheap */
  constructor(options: {
    queries: AccessQueries
    changes: AccessChanges
    outage: Outage
    onUse: (key: KeyPrincipal) => void
  }) {
    const { queries } = options
    this.#onUse = options.onUse
    this.#cache = new FreshCache<Remembered>({
      async read(keyHash) {
        const row = await queries.keyByHash(keyHash)
        return {
          lookup: lookupOf(row),
          expiresAtMs: row?.status === 'Active' ? row.expiresAt.getTime() : Number.POSITIVE_INFINITY,
        }
      },
      isAbsent: ({ lookup }) => lookup === UNKNOWN,
      outage: options.outage,
      maxEntries: 50_000,
    })
    options.changes.onChange((subject) => this.#change(subject))
  }

  /** @throws AppError 503 when the database is away and the key is not known, or no longer */
  async find(rawKey: string): Promise<KeyLookup> {
    if (!isUuid(rawKey)) return UNKNOWN
    const keyHash = hashKey(rawKey)
    const lookup = lookupNow(this.#cache.peek(keyHash) ?? (await this.#cache.find(keyHash)))
    if (lookup.status === 'valid') this.#onUse(lookup.principal)
    return lookup
  }

  #change(subject: string | undefined): void {
    const spaceId = subject === undefined ? undefined : spaceOf(subject)
    if (subject === undefined) this.#cache.outdate()
    else if (spaceId !== undefined) {
      // Of a key that is not valid it is not known whose it is.
      this.#cache.forgetWhere(
        (_, { lookup }) => lookup.status !== 'valid' || lookup.principal.spaceId === spaceId,
      )
    } else if (subject.startsWith(KEY)) this.#cache.refresh(subject.slice(KEY.length))
  }
}
