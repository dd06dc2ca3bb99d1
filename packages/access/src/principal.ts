import type { FastifyRequest } from 'fastify'

/** A person, from a user token. */
export interface UserPrincipal {
  readonly kind: 'user'
  readonly qxId: string
  readonly name: string
  /** The sign-in that the token comes from, where there is one. */
  readonly sessionId?: string
}

/** A machine, from a client-credentials token. */
export interface ClientPrincipal {
  readonly kind: 'client'
  readonly clientId: string
  readonly name: string
}

/** An API key of one space. */
export interface KeyPrincipal {
  readonly kind: 'key'
  readonly keyId: string
  readonly spaceId: string
  readonly name: string
}

export type Principal = UserPrincipal | ClientPrincipal | KeyPrincipal

const callers = new WeakMap<object, Principal>()

export function rememberCaller(request: FastifyRequest, caller: Principal): void {
  callers.set(request, caller)
}

/** Who sent this request. Only for routes with a guard; elsewhere it throws. */
export function callerOf(request: FastifyRequest): Principal {
  const caller = callers.get(request)
  if (caller === undefined) throw new Error(`${request.url} reads its caller but has no guard`)
  return caller
}

/** The name and id that `createdBy` and `modifiedBy` show. */
export const actorOf = (caller: Principal): { qxId: string; name: string } => ({
  qxId: caller.kind === 'user' ? caller.qxId : caller.kind === 'client' ? caller.clientId : caller.keyId,
  name: caller.name,
})
