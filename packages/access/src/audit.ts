import { hostname, userInfo } from 'node:os'
import type { QueryExecutorProvider } from '@atrium/kernel/db'
import type { FastifyRequest } from 'fastify'
import { actorOf, callerOf, type Principal } from './principal.ts'

/** Who does something, by which operation, and from where. */
export interface Act {
  /** Q number, client id or key id. */
  readonly qxId: string
  readonly name: string
  readonly kind: 'user' | 'client' | 'key' | 'system'
  readonly operation: string
  readonly address: string
  readonly requestId: string
  readonly userAgent: string
}

/** What an act did to one resource. */
export interface AuditChange {
  /** Null for what belongs to no space. */
  readonly spaceId: string | null
  readonly resourceType: string
  readonly resourceId: string
  /** The row or object as it was; absent when it is new. */
  readonly before?: object | undefined
  /** As it is now; absent when it is gone. */
  readonly after?: object | undefined
}

/** The platform's one log of who did what. Portal implements it; every service writes to it. */
export interface AuditLog {
  /**
   * Notes what an act did, in the transaction that does it: neither is there without the other. Secrets and hashes are
   * masked by their names; contents of prompts and vectors are not for it.
   */
  record(trx: QueryExecutorProvider, act: Act, change: AuditChange): Promise<void>
}

const LONGEST_USER_AGENT = 500

/** What a caller does by a request. For routes without a guard, which know by themselves who calls. */
export const actOfCaller = (
  request: FastifyRequest,
  caller: Pick<Act, 'kind' | 'qxId' | 'name'>,
  operation = request.routeOptions.config.operationId ?? request.url,
): Act => ({
  qxId: caller.qxId,
  name: caller.name,
  kind: caller.kind,
  operation,
  address: request.ip,
  requestId: request.id,
  userAgent: (request.headers['user-agent'] ?? '').slice(0, LONGEST_USER_AGENT),
})

/** What the caller of a guarded route does by this request. */
export function actOf(request: FastifyRequest): Act {
  const caller: Principal = callerOf(request)
  return actOfCaller(request, { ...actorOf(caller), kind: caller.kind })
}

/** What the platform does by itself. */
export const systemAct = (operation: string): Act => ({
  kind: 'system',
  qxId: 'system',
  name: 'system',
  operation,
  address: '',
  requestId: '',
  userAgent: '',
})

function accountName(): string {
  try {
    return userInfo().username
  } catch {
    // Containers run under numbers that no account has.
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

/** What somebody does by the `atrium` command; the log names the account of the machine. */
export const commandLineAct = (operation: string): Act => ({
  ...systemAct(operation),
  qxId: 'command line',
  name: `${accountName()}@${hostname()}`,
})
