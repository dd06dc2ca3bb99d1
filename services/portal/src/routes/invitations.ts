import { actOf, callerOf } from '@atrium/access'
import { ifMatchVersions, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { Static } from 'typebox'
import type { PortalContext } from '../context.ts'
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
import {
  acceptInvitation,
  approveInvitation,
  createInvitation,
  type HandedOutInvitation,
  listInvitations,
  revokeInvitation,
  statusOf,
} from '../domain/invitations.ts'
import type { InvitationRow } from '../queries/invitations.ts'
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
  ...(row.delivery === null ? {} : { delivery: row.delivery }),
  expiresAt: row.expires_at.toISOString(),
  ...(row.approved_at === null ? {} : { approvedAt: row.approved_at.toISOString() }),
  ...(row.approved_by === null ? {} : { approvedBy: row.approved_by }),
  ...(row.accepted_at === null ? {} : { acceptedAt: row.accepted_at.toISOString() }),
  ...(row.accepted_by === null ? {} : { acceptedBy: row.accepted_by }),
  ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at.toISOString() }),
  ...presentStamps(row),
})

const presentHandedOut = ({ row, token }: HandedOutInvitation): Static<typeof CreatedInvitation> => ({
  ...present(row),
  ...(token === undefined ? {} : { token }),
})

export function invitationRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  invitationCollection(scope, ctx, guard)
  invitationApproval(scope, ctx, guard)
  endOfInvitation(scope, ctx, guard)
}

function invitationCollection(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'POST',
    url: path,
    ...guard('createInvitation'),
    schema: {
      tags,
      summary: 'Invite somebody into a space, by mail or by a token to pass on',
      description:
        'What an owner asks for is Requested and waits for a superuser’s approval, unless the operator has owners invite directly.',
      params: SpaceParams,
      body: InvitationInput,
      response: { 201: withEtag(CreatedInvitation), ...bodyErrors, ...errors(403, 404, 502) },
    },
    handler: async (request, reply) => {
      const { spaceId } = request.params
      const caller = callerOf(request)
      const created = await createInvitation(ctx, spaceId, request.body, caller, actOf(request))
      setEtag(reply, created.row.version)
      return reply.code(201).send(presentHandedOut(created))
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
      answerList(reply, await listInvitations(ctx, request.params.spaceId, request.query), present),
  })

  scope.route({
    method: 'GET',
    url: '/v1/admin/invitations',
    ...guard('listAllInvitations'),
    schema: {
      tags,
      summary: 'List the invitations into all spaces, such as those that wait for approval',
      querystring: InvitationQuery,
      response: { 200: InvitationList, ...errors(400, 403) },
    },
    handler: async (request, reply) =>
      answerList(reply, await listInvitations(ctx, undefined, request.query), present),
  })
}

function invitationApproval(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'POST',
    url: `${path}/:invitationId([^/]+)::approve`,
    ...guard('approveInvitation'),
    schema: {
      tags,
      summary: 'Let an owner’s invitation go out, by mail or by a token to pass on',
      params: InvitationParams,
      response: { 200: withEtag(CreatedInvitation), ...bodyErrors, ...errors(403, 404, 409, 412, 502) },
    },
    handler: async (request, reply) => {
      const { spaceId, invitationId } = request.params
      const versions = ifMatchVersions(request)
      const approved = await approveInvitation(ctx, spaceId, invitationId, actOf(request), versions)
      setEtag(reply, approved.row.version)
      return presentHandedOut(approved)
    },
  })
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
