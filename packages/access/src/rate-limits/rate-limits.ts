import { createDatabase, type Kysely } from '@atrium/kernel/db'
import type { PlatformDeps } from '@atrium/kernel/deps'
import { isUnavailable, tooManyRequests } from '@atrium/kernel/errors'
import { Counter, type Registry } from '@atrium/kernel/metrics'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Principal } from '../principal.ts'
import { networkOf } from './network.ts'
import { deleteFullBuckets, leaseTokens } from './rate-buckets.ts'
import { type RateLimit, RateLimiter } from './rate-limiter.ts'

/** What the guard asks of a caller who is known, before it decides what they may do. */
export interface RateLimits {
  /** Takes one request from the caller's bucket and says in headers what is left. @throws AppError 429 */
  admit(caller: Principal, request: FastifyRequest, reply: FastifyReply): Promise<void> | undefined
}

/** Where headers go: a reply of the framework, or the bare response of a library that answers by itself. */
type SetHeader = (name: string, value: string) => void

/** The limits of one service. Where none is set, nothing is asked and no header is sent. */
export interface ServiceRateLimits extends RateLimits {
  /** The same for a caller whom nobody knows yet. IPv6 addresses count by their /64, which one household has. */
  admitAddress(address: string, setHeader: SetHeader): Promise<void> | undefined
  /** The same for a machine that shows who it is at the token endpoint. */
  admitClientAt(clientId: string, address: string, setHeader: SetHeader): Promise<void> | undefined
}

export interface RateLimitsOptions extends Pick<PlatformDeps, 'pool' | 'log' | 'metrics'> {
  /** Buckets of one caller in two services are two. */
  readonly service: string
  /** Undefined: off. */
  readonly limit: RateLimit | undefined
  /** A caller's own limit, instead of the service's. */
  readonly limitOf?: (request: FastifyRequest) => RateLimit | undefined
}

/** @param burst requests at once, after a rest; those of a minute by default */
export const rateLimitOf = (
  perMinute: number | undefined,
  burst: number | undefined,
): RateLimit | undefined => (perMinute === undefined ? undefined : { perMinute, burst: burst ?? perMinute })

const idOf = (caller: Principal): string =>
  caller.kind === 'user' ? caller.qxId : caller.kind === 'client' ? caller.clientId : caller.keyId

const WHOSE = { user: 'for this user', client: 'for this client', key: 'for this API key' } as const

/** Limits requests of each caller of a service, over all processes. Whoever is not let in for another reason has no bucket. */
export function createRateLimits(options: RateLimitsOptions): ServiceRateLimits {
  const { limit: general, limitOf } = options
  const limiter = createLimiter(options)

  function take(
    holder: string,
    whose: string,
    limit: RateLimit | undefined,
    setHeader: SetHeader,
  ): Promise<void> | undefined {
    if (limit === undefined) return undefined
    const taken = limiter.take(holder, limit)
    const tell = (decision: Awaited<typeof taken>): void => {
      setHeader('ratelimit-limit', String(decision.limit))
      setHeader('ratelimit-remaining', String(decision.remaining))
      setHeader('ratelimit-reset', String(decision.resetSeconds))
      if (decision.admitted) return
      const message = `Rate limit of ${decision.limit} requests a minute exceeded ${whose}`
      throw tooManyRequests(message, decision.resetSeconds)
    }
    if (taken instanceof Promise) return taken.then(tell)
    tell(taken)
    return undefined
  }

  return {
    admit: (caller, request, reply) =>
      take(
        `${caller.kind}:${idOf(caller)}`,
        WHOSE[caller.kind],
        limitOf?.(request) ?? general,
        (name, value) => void reply.header(name, value),
      ),
    admitAddress: (address, setHeader) =>
      take(`address:${networkOf(address)}`, 'for this address', general, setHeader),
    admitClientAt: (clientId, address, setHeader) =>
      take(`client:${clientId}@${networkOf(address)}`, WHOSE.client, general, setHeader),
  }
}

function createLimiter({ service, pool, log, metrics }: RateLimitsOptions): RateLimiter {
  const db: Kysely<unknown> = createDatabase(pool)
  const failures = failureCounter(metrics)
  failures.inc({ service }, 0)
  return new RateLimiter({
    lease: (request) => leaseTokens(db, { ...request, service }),
    onFailure: (err) => {
      failures.inc({ service })
      if (isUnavailable(err)) return
      log.warn({ err, service }, 'the shared rate limit could not be asked; this process counts alone')
    },
    onSweep: () => {
      deleteFullBuckets(db).catch((err: unknown) => {
        if (isUnavailable(err)) return
        log.warn({ err }, 'rate buckets that are full again could not be deleted; trying again')
      })
    },
  })
}

const FAILURES = 'atrium_rate_limit_failures_total'

/** One for the process, whichever service asks first. */
const failureCounter = (metrics: Registry): Counter<'service'> =>
  (metrics.getSingleMetric(FAILURES) as Counter<'service'> | undefined) ??
  new Counter({
    name: FAILURES,
    help: 'Times that the shared rate limit could not be asked, and a process counted alone',
    labelNames: ['service'] as const,
    registers: [metrics],
  })
