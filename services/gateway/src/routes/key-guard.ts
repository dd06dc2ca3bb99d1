import {
  createGuard,
  type Guard,
  type GuardDeps,
  type KeyPrincipal,
  type RateLimit,
  type RateLimits,
} from '@atrium/access'
import { isUuid } from '@atrium/kernel/ids'
import type { FastifyRequest } from 'fastify'
import { gatewayAccess } from '../access.ts'
import type { Region } from '../domain/catalogue.ts'
import { budgetUsedUp, deprecatedKeyFormat, invalidApiKey, tokenInsteadOfKey } from '../errors.ts'
import type { KeyDirectory, KeyHolder } from '../ports.ts'

/** What is known of the key of each request that was let in. */
const holders = new WeakMap<FastifyRequest, KeyHolder>()

const JWT = /^[\w-]+\.[\w-]+\.[\w-]*$/

/** Guards that accept API keys alone; outside China these are UUIDs. */
export function createKeyGuard(
  keys: KeyDirectory,
  limits: RateLimits,
  region: Region,
): Guard<keyof typeof gatewayAccess> {
  const deps: GuardDeps = {
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
  }
  return createGuard(gatewayAccess, deps, limits)
}

/** The limit that the key's owner set, where there is one. */
export function ownLimitOf(request: FastifyRequest): RateLimit | undefined {
  const own = holders.get(request)?.requestsPerMinute
  return own == null ? undefined : { perMinute: own, burst: own }
}

/** What is known of the key that a guarded request came with. */
export function holderOf(request: FastifyRequest): KeyHolder {
  const holder = holders.get(request)
  if (holder === undefined) throw new Error(`${request.url} was called without a key`)
  return holder
}

type Hook = (request: FastifyRequest) => Promise<void>

/**
 * Refuses to spend what the key or its space no longer has. Reads cost nothing and are let through.
 * @throws AppError 429 `insufficient_quota`
 */
export const demandBudget: Hook = async (request) => {
  const usedUp = holders.get(request)?.usedUpBudget
  if (usedUp == null || request.method === 'GET' || request.method === 'DELETE') return
  throw budgetUsedUp(usedUp)
}
