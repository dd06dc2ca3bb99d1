import { ifMatchVersions, type ServiceScope, setEtag } from '@atrium/kernel/http'
import type { Static } from 'typebox'
import { bodyErrors, ErrorBody, errors, NoContent, SpaceParams } from '../contract/common.ts'
import {
  AcceptedInvitation,
  CreatedInvitation,
  type Invitation,
  InvitationAcceptance,
  InvitationInput,
  InvitationList,
  InvitationParams,
  InvitationQuery,
} from '../contract/invitations.ts'
import type { PortalContext } from '../domain/context.ts'
import { acceptInvitation, createInvitation, revokeInvitation, statusOf } from '../domain/invitations.ts'
import { type InvitationRow, listInvitationRows } from '../queries/invitations.ts'
import { actOf } from './act.ts'
import { presentStamps } from './authors.ts'
import type { PortalGuard } from './guard.ts'
import { answerList } from './lists.ts'

const tags = ['Invitations']
const path = '/v1/spaces/:spaceId/invitations'

const present = (row: InvitationRow): Static<typeof Invitation> => ({
  invitationId: row.invitation_id,
  spaceId: row.space_id,
  mailAddress: row.mail_address,
  role: row.role,
  status: statusOf(row),
  expiresAt: row.expires_at.toISOString(),
  ...(row.accepted_at === null ? {} : { acceptedAt: row.accepted_at.toISOString() }),
  ...(row.accepted_by === null ? {} : { acceptedBy: row.accepted_by }),
  ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at.toISOString() }),
  ...presentStamps(row),
})

export function invitationRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'POST',
    url: path,
    ...guard('createInvitation'),
    schema: {
      tags,
      summary: 'Invite somebody into a space, by mail or by a token to pass on',
      params: SpaceParams,
      body: InvitationInput,
      response: { 201: CreatedInvitation, ...bodyErrors, ...errors(403, 404, 502) },
    },
    handler: async (request, reply) => {
      const { row, token } = await createInvitation(ctx, request.params.spaceId, request.body, actOf(request))
      setEtag(reply, row.version)
      const delivery = token === undefined ? ('mail' as const) : ('answer' as const)
      return reply.code(201).send({ ...present(row), delivery, ...(token === undefined ? {} : { token }) })
    },
  })

  scope.route({
    method: 'GET',
    url: path,
    ...guard('listInvitations'),
    schema: {
      tags,
      summary: 'List the invitations into a space',
      params: SpaceParams,
      querystring: InvitationQuery,
      response: { 200: InvitationList, ...errors(400, 403, 404) },
    },
    handler: async (request, reply) =>
      answerList(reply, await listInvitationRows(ctx.db, request.params.spaceId, request.query), present),
  })

  endOfInvitation(scope, ctx, guard)
}

function endOfInvitation(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'DELETE',
    url: `${path}/:invitationId`,
    ...guard('revokeInvitation'),
    schema: {
      tags,
      summary: 'Take an invitation back',
      params: InvitationParams,
      response: { 204: NoContent, ...errors(400, 403, 404, 409, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId, invitationId } = request.params
      await revokeInvitation(ctx, spaceId, invitationId, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })

  scope.route({
    method: 'POST',
    url: '/v1/invitations::accept',
    ...guard('acceptInvitation'),
    schema: {
      tags,
      summary: 'Become a member of a space by an invitation',
      body: InvitationAcceptance,
      response: { 200: AcceptedInvitation, ...bodyErrors, 410: ErrorBody, ...errors(403, 409) },
    },
    handler: async (request) => {
      const { member, spaceId, spaceName } = await acceptInvitation(ctx, request.body.token, actOf(request))
      return { spaceId, spaceName, userId: member.user_id, role: member.role }
    },
  })
}
