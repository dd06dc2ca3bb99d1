import { callerOf, createGuard, type Guard, type KeyPrincipal } from '@atrium/access'
import { tooManyRequests } from '@atrium/kernel/errors'
import { isUuid } from '@atrium/kernel/ids'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { gatewayAccess } from '../access.ts'
import type { Region } from '../domain/catalogue.ts'
import type { RateLimit, RateLimiter } from '../domain/rate-limiter.ts'
import { budgetUsedUp, deprecatedKeyFormat, invalidApiKey, tokenInsteadOfKey } from '../errors.ts'
import type { KeyDirectory, KeyHolder } from '../ports.ts'

/** What is known of the key of each request that was let in. */
const holders = new WeakMap<FastifyRequest, KeyHolder>()

const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/

/** Guards that accept API keys alone; outside China these are UUIDs. */
export function createKeyGuard(keys: KeyDirectory, region: Region): Guard<keyof typeof gatewayAccess> {
  return createGuard(gatewayAccess, {
    directory: {
      isSuperuser: async () => false,
      roleIn: async () => undefined,
    },
    async authenticate(credential, request): Promise<KeyPrincipal> {
      if (!isUuid(credential)) {
        if (JWT.test(credential)) throw tokenInsteadOfKey(gatewayAccess.createChatCompletion.refusal)
        if (region === 'row') throw deprecatedKeyFormat()
      }
      const holder = await keys.findKey(credential)
      if (holder === undefined) throw invalidApiKey()
      holders.set(request, holder)
      return { kind: 'key', keyId: holder.keyId, spaceId: holder.spaceId, name: holder.name }
    },
  })
}

/** The key that a guarded request came with. */
export function keyOf(request: FastifyRequest): KeyPrincipal {
  const caller = callerOf(request)
  if (caller.kind !== 'key') throw new Error(`${request.url} is open to ${caller.kind}`)
  return caller
}

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>

/**
 * Refuses to spend what the key or its space no longer has. Reads cost nothing and are let through.
 * @throws AppError 429 `insufficient_quota`
 */
export const demandBudget: Hook = async (request) => {
  const usedUp = holders.get(request)?.usedUpBudget
  if (usedUp == null || request.method === 'GET' || request.method === 'DELETE') return
  throw budgetUsedUp(usedUp)
}

/**
 * Takes one token of the key's bucket for each request, and says how many are left. A limit of the key's own replaces
 * the gateway's.
 * @param general undefined: keys without a limit of their own have none
 */
export const limitRate =
  (limiter: RateLimiter, general: RateLimit | undefined): Hook =>
  async (request, reply) => {
    const own = holders.get(request)?.requestsPerMinute
    const limit = own == null ? general : { perMinute: own, burst: own }
    if (limit === undefined) return
    const taken = limiter.take(keyOf(request).keyId, limit)
    const decision = taken instanceof Promise ? await taken : taken
    reply.header('ratelimit-limit', decision.limit)
    reply.header('ratelimit-remaining', decision.remaining)
    reply.header('ratelimit-reset', decision.resetSeconds)
    if (decision.admitted) return
    throw tooManyRequests(
      `Rate limit of ${decision.limit} requests a minute exceeded for this API key`,
      decision.resetSeconds,
    )
  }
