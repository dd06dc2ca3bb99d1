import { LRUCache } from 'lru-cache'
import type { Lease, LeaseRequest } from './rate-buckets.ts'

/** A lease is used within this time or given back, so that no process sits on another's tokens. */
const LEASE_MS = 250
const IDLE_MS = 60_000
/** Tokens asked for at first; the bucket gives fewer when it runs low. */
const FIRST_LEASE = 8
/** Holders in memory, the latest; one that is forgotten asks its bucket anew. */
const MOST_HOLDERS = 50_000

export interface RateLimit {
  readonly perMinute: number
  /** Calls at once, after a rest. */
  readonly burst: number
}

export interface RateLimitOptions {
  readonly lease: (request: Omit<LeaseRequest, 'service'>) => Promise<Lease>
  /** The bucket could not be asked; this process counts alone meanwhile. */
  readonly onFailure: (error: unknown) => void
  /** Called about once a minute while there are requests. */
  readonly onSweep: () => void
}

export interface RateDecision {
  readonly admitted: boolean
  readonly limit: number
  readonly remaining: number
  /** Seconds until the bucket is full again; for a refused call, until the next token. */
  readonly resetSeconds: number
}

interface HolderState {
  limit: RateLimit
  /** Leased tokens that are not used yet, and until when they may be. */
  left: number
  expiresAt: number
  /** Leased tokens that the bucket still counts as ours, used or not. */
  live: number
  settled: number
  returned: number
  want: number
  /** The bucket's own tokens, as of the last lease; full until it is asked. */
  tokens: number
  countedAt: number
  emptyUntil: number
  leasing: Promise<void> | undefined
  /** Calls that wait for the next lease. */
  waiting: number
}

/** What the shared bucket would give if this process were the only one, from what it said last. */
function leaseAlone({ limit, tokens, countedAt }: HolderState, want: number): Lease {
  const refilled = ((Date.now() - countedAt) * limit.perMinute) / 60_000
  const free = Math.min(limit.burst, tokens + refilled)
  const granted = free < 1 ? 0 : Math.min(want, Math.max(1, Math.floor(free / 4)))
  return { granted, tokens: free - granted }
}

/**
 * A token bucket for each holder, shared by all processes: each leases a handful of tokens at a time, so that a
 * call seldom waits for the database, and ever fewer as the bucket runs low.
 */
export class RateLimiter {
  readonly #options: RateLimitOptions
  readonly #holders = new LRUCache<string, HolderState>({ max: MOST_HOLDERS })
  #sweptAt = Date.now()

  constructor(options: RateLimitOptions) {
    this.#options = options
  }

  /** Takes a token for one call of the holder, under the limit that holds for it now; a promise only when a lease must be waited for. */
  take(holder: string, limit: RateLimit): RateDecision | Promise<RateDecision> {
    const now = Date.now()
    if (now - this.#sweptAt > IDLE_MS) this.#sweep(now)
    const state = this.#stateOf(holder, limit)
    return this.#tryTake(holder, state, now) ?? this.#takeAfterLease(holder, state)
  }

  async #takeAfterLease(holder: string, state: HolderState): Promise<RateDecision> {
    state.waiting += 1
    for (;;) {
      await (state.leasing ?? this.#startLease(holder, state))
      const decision = this.#tryTake(holder, state, Date.now())
      if (decision === undefined) continue
      state.waiting -= 1
      return decision
    }
  }

  #tryTake(holder: string, state: HolderState, now: number): RateDecision | undefined {
    if (now > state.expiresAt) this.#endLease(state)
    if (state.left >= 1) {
      state.left -= 1
      // Asked for in good time, the next lease is there before this one is used up.
      if (state.left < state.want / 4 && state.leasing === undefined && now >= state.emptyUntil) {
        void this.#startLease(holder, state)
      }
      return this.#decision(state, true, now)
    }
    return now < state.emptyUntil ? this.#decision(state, false, now) : undefined
  }

  #decision(state: HolderState, admitted: boolean, now: number): RateDecision {
    const { burst, perMinute } = state.limit
    const remaining = admitted ? Math.floor(Math.min(burst, state.left + state.tokens)) : 0
    const seconds = admitted ? ((burst - remaining) * 60) / perMinute : (state.emptyUntil - now) / 1000
    return {
      admitted,
      limit: perMinute,
      remaining,
      resetSeconds: Math.max(1, Math.ceil(seconds)),
    }
  }

  #endLease(state: HolderState): void {
    if (state.left > state.want / 2) state.want = Math.max(1, Math.floor(state.want / 2))
    state.returned += Math.min(state.left, state.live)
    state.settled += state.live
    // What the shared bucket did not give goes back to this process's own count.
    state.tokens += Math.max(0, state.left - state.live)
    state.left = 0
    state.live = 0
    state.expiresAt = Number.POSITIVE_INFINITY
  }

  #startLease(holder: string, state: HolderState): Promise<void> {
    const { burst, perMinute } = state.limit
    const used = Math.max(0, state.live - state.left)
    const most = Math.max(1, Math.ceil(burst / 4))
    const wanted = used >= state.want ? state.want * 2 : state.want
    state.want = Math.min(Math.max(wanted, state.waiting), most)
    state.live -= used
    const settled = state.settled + used
    const { returned, want } = state
    state.settled = 0
    state.returned = 0
    const request = { holder, burst, perSecond: perMinute / 60, want, settled, returned }
    state.leasing = this.#options.lease(request).then(
      (lease) => this.#receive(state, lease, true),
      (error: unknown) => {
        state.settled += settled
        state.returned += returned
        this.#options.onFailure(error)
        this.#receive(state, leaseAlone(state, want), false)
      },
    )
    return state.leasing
  }

  /** @param isShared the shared bucket gave it, and wants to hear what became of it */
  #receive(state: HolderState, { granted, tokens }: Lease, isShared: boolean): void {
    const now = Date.now()
    state.leasing = undefined
    state.tokens = tokens
    state.countedAt = now
    state.left += granted
    if (isShared) state.live += granted
    if (granted > 0) state.expiresAt = now + LEASE_MS
    else state.emptyUntil = now + Math.max(1, ((1 - tokens) * 60_000) / state.limit.perMinute)
  }

  #stateOf(holder: string, limit: RateLimit): HolderState {
    let state = this.#holders.get(holder)
    if (state === undefined) {
      state = {
        limit,
        left: 0,
        expiresAt: Number.POSITIVE_INFINITY,
        live: 0,
        settled: 0,
        returned: 0,
        want: FIRST_LEASE,
        tokens: limit.burst,
        countedAt: Date.now(),
        emptyUntil: 0,
        leasing: undefined,
        waiting: 0,
      }
      this.#holders.set(holder, state)
    } else if (state.limit.perMinute !== limit.perMinute) {
      // What was refused under the old limit may be let in under the new one.
      state.emptyUntil = 0
      state.limit = limit
    }
    return state
  }

  /** Holders that rest need no memory; what they still held, the bucket forgets by itself. */
  #sweep(now: number): void {
    this.#sweptAt = now
    this.#options.onSweep()
    for (const [holder, state] of this.#holders) {
      if (state.leasing === undefined && state.left === 0 && state.emptyUntil < now)
        this.#holders.delete(holder)
      else if (now > state.expiresAt) this.#endLease(state)
    }
  }
}
