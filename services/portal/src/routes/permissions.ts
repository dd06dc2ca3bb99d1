import type { ServiceScope } from '@atrium/kernel/http'
import Type from 'typebox'
import type { PortalContext } from '../context.ts'
import { errors } from '../contract/common.ts'
import { SpacePermissions, UserPermissions } from '../contract/permissions.ts'
import { isSuperuserPerson, permissionsInSpace } from '../domain/permissions.ts'
import type { PortalGuard } from './guard.ts'

const tags = ['Permissions']

/** Policy engines reuse an answer by this header alone; five seconds keep them cheap and nearly current. */
const CACHE = 'private, max-age=5'

export function permissionRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'GET',
    url: '/v1/permissions/:spaceId/:userId',
    ...guard('getSpacePermissions'),
    schema: {
      tags,
      summary: 'What a user may do in a space, for a policy engine',
      params: Type.Object({ spaceId: Type.String(), userId: Type.String({ description: 'QX id' }) }),
      response: { 200: SpacePermissions, ...errors(403, 404) },
    },
    handler: async (request, reply) => {
      const { spaceId, userId } = request.params
      const { role, isSuperuser } = await permissionsInSpace(ctx, spaceId, userId)
      reply.header('cache-control', CACHE)
      return {
        roles: role === null ? [] : [role],
        isSuperuser,
        isSpaceOwner: role === 'owner',
        isSpaceMember: role !== null,
      }
    },
  })

  scope.route({
    method: 'GET',
    url: '/v1/permissions/:userId',
    ...guard('getUserPermissions'),
    schema: {
      tags,
      summary: 'What a user may do everywhere, for a policy engine',
      params: Type.Object({ userId: Type.String({ description: 'QX id' }) }),
      response: { 200: UserPermissions, ...errors(403, 404) },
    },
    handler: async (request, reply) => {
      const { userId } = request.params
      const superuser = await isSuperuserPerson(ctx, userId)
      reply.header('cache-control', CACHE)
      return { user: { qNumber: userId, superuser }, authenticated: true }
    },
  })
}
