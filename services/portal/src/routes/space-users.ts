import { actOf } from '@atrium/access'
import { ifMatchVersions, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { Static } from 'typebox'
import Type from 'typebox'
import type { PortalContext } from '../context.ts'
import { bodyErrors, errors, NoContent, SpaceParams, Uuid } from '../contract/common.ts'
import {
  AddedSpaceUser,
  ModifiedSpaceUser,
  type SpaceUser,
  SpaceUserChanges,
  SpaceUserInput,
  SpaceUserList,
  SpaceUserQuery,
} from '../contract/space-users.ts'
import { addMember, changeRole, listSpaceMembers, removeMember } from '../domain/members.ts'
import type { MemberRow } from '../queries/memberships.ts'
import type { PortalGuard } from './guard.ts'
import { answerList } from './lists.ts'

const tags = ['Space users']

const present = (row: MemberRow): Static<typeof SpaceUser> => ({
  userId: row.user_id,
  qNumber: row.q_number,
  name: row.name,
  department: row.department,
  mailAddress: row.mail_address,
  role: row.role,
})

export function spaceUserRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  spaceUserCollection(scope, ctx, guard)
  oneSpaceUser(scope, ctx, guard)
}

function spaceUserCollection(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'GET',
    url: '/v1/spaces/:spaceId/users',
    ...guard('listSpaceUsers'),
    schema: {
      tags,
      summary: 'List the users of a space',
      params: SpaceParams,
      querystring: SpaceUserQuery,
      response: { 200: SpaceUserList, ...errors(400, 403, 404) },
    },
    handler: async (request, reply) =>
      answerList(reply, await listSpaceMembers(ctx, request.params.spaceId, request.query), present),
  })

  scope.route({
    method: 'POST',
    url: '/v1/spaces/:spaceId/users',
    ...guard('addSpaceUser'),
    schema: {
      tags,
      summary: 'Add a user to a space',
      params: SpaceParams,
      body: SpaceUserInput,
      response: { 201: withEtag(AddedSpaceUser), ...bodyErrors, ...errors(403, 404, 409) },
    },
    handler: async (request, reply) => {
      const row = await addMember(ctx, request.params.spaceId, request.body, actOf(request))
      setEtag(reply, row.version)
      return reply.code(201).send({ ...present(row), createdAt: row.created_at.toISOString() })
    },
  })
}

function oneSpaceUser(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'PATCH',
    url: '/v1/spaces/:spaceId/users/:userId',
    ...guard('updateSpaceUser'),
    schema: {
      tags,
      summary: 'Change a user’s role in a space',
      params: Type.Object({ spaceId: Type.String(), userId: Uuid }),
      body: SpaceUserChanges,
      response: { 200: withEtag(ModifiedSpaceUser), ...bodyErrors, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId, userId } = request.params
      const { role } = request.body
      const row = await changeRole(ctx, spaceId, userId, role, actOf(request), ifMatchVersions(request))
      setEtag(reply, row.version)
      return { ...present(row), modifiedAt: row.modified_at.toISOString() }
    },
  })

  scope.route({
    method: 'DELETE',
    url: '/v1/spaces/:spaceId/users/:userId',
    ...guard('removeSpaceUser'),
    schema: {
      tags,
      summary: 'Remove a user from a space',
      params: Type.Object({ spaceId: Type.String(), userId: Type.String() }),
      response: { 204: NoContent, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId, userId } = request.params
      await removeMember(ctx, spaceId, userId, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}
