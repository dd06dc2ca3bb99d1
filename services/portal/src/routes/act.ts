import { actorOf, callerOf } from '@atrium/access'
import type { FastifyRequest } from 'fastify'
import type { Act } from '../domain/audit.ts'

const LONGEST_USER_AGENT = 500

/** Who sent this request and from where, for the audit log and for `createdBy` and `modifiedBy`. */
export function actOf(request: FastifyRequest): Act {
  const caller = callerOf(request)
  return {
    ...actorOf(caller),
    kind: caller.kind,
    operation: request.routeOptions.config.operationId ?? request.url,
    address: request.ip,
    requestId: request.id,
    userAgent: (request.headers['user-agent'] ?? '').slice(0, LONGEST_USER_AGENT),
  }
}
