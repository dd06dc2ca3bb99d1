import type { ServiceScope } from '@atrium/kernel/http'
import type { Static } from 'typebox'
import type { PortalContext } from '../context.ts'
import { type AuditEntry, AuditList, AuditQuery } from '../contract/audit.ts'
import { errors, SpaceParams } from '../contract/common.ts'
import { listAudit } from '../domain/audit.ts'
import type { AuditFilter, AuditRow } from '../queries/audit.ts'
import type { PortalGuard } from './guard.ts'
import { answerList } from './lists.ts'

const tags = ['Audit log']

const present = (row: AuditRow): Static<typeof AuditEntry> => ({
  auditId: row.entry_id,
  at: row.at.toISOString(),
  actor: { kind: row.actor_kind, id: row.actor_id, name: row.actor_name },
  operation: row.operation,
  spaceId: row.space_id,
  resourceType: row.resource_type,
  resourceId: row.resource_id,
  before: row.before,
  after: row.after,
  origin: { address: row.address, requestId: row.request_id, userAgent: row.user_agent },
})

function filterOf({ from, to, ...rest }: Static<typeof AuditQuery>): AuditFilter {
  return {
    ...rest,
    ...(from === undefined ? {} : { from: new Date(from) }),
    ...(to === undefined ? {} : { to: new Date(to) }),
  }
}

export function auditRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'GET',
    url: '/v1/spaces/:spaceId/audit',
    ...guard('listSpaceAudit'),
    schema: {
      tags,
      summary: 'Who changed what in a space, newest first',
      params: SpaceParams,
      querystring: AuditQuery,
      response: { 200: AuditList, ...errors(400, 403, 404) },
    },
    handler: async (request, reply) => {
      const filter = filterOf(request.query)
      return answerList(reply, await listAudit(ctx, request.params.spaceId, filter), present)
    },
  })

  scope.route({
    method: 'GET',
    url: '/v1/admin/audit',
    ...guard('listAudit'),
    schema: {
      tags,
      summary: 'Who changed what anywhere, newest first',
      querystring: AuditQuery,
      response: { 200: AuditList, ...errors(400, 403) },
    },
    handler: async (request, reply) =>
      answerList(reply, await listAudit(ctx, undefined, filterOf(request.query)), present),
  })
}
