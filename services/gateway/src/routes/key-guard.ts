import { callerOf, createGuard, type Guard, type KeyPrincipal } from '@atrium/access'
import { tooManyRequests } from '@atrium/kernel/errors'
import { isUuid } from '@atrium/kernel/ids'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { gatewayAccess } from '../access.ts'
import type { Region } from '../domain/catalogue.ts'
import type { RateLimiter } from '../domain/rate-limiter.ts'
import { deprecatedKeyFormat, invalidApiKey, tokenInsteadOfKey } from '../errors.ts'
import type { KeyDirectory } from '../ports.ts'

const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/

/** Guards that accept API keys alone; outside China these are UUIDs. */
export function createKeyGuard(keys: KeyDirectory, region: Region): Guard<keyof typeof gatewayAccess> {
  return createGuard(gatewayAccess, {
    directory: {
      isSuperuser: async () => false,
      roleIn: async () => undefined,
    },
    async authenticate(credential): Promise<KeyPrincipal> {
      if (!isUuid(credential)) {
        if (JWT.test(credential)) throw tokenInsteadOfKey(gatewayAccess.createChatCompletion.refusal)
        if (region === 'row') throw deprecatedKeyFormat()
      }
      const holder = await keys.findKey(credential)
      if (holder === undefined) throw invalidApiKey()
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

/** Takes one token of the key's bucket for each request, and says how many are left. */
export const limitRate =
  (limiter: RateLimiter): Hook =>
  async (request, reply) => {
    const taken = limiter.take(keyOf(request).keyId)
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
