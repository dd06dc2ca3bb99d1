import { actOf } from '@atrium/access'
import { ifMatchVersions, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { Static } from 'typebox'
import type { PortalContext } from '../context.ts'
import { bodyErrors, errors, NoContent, SpaceParams } from '../contract/common.ts'
import {
  type DeletedSpace,
  DeletedSpaceList,
  DeletedSpaceParams,
  DeletedSpaceQuery,
  Space,
} from '../contract/spaces.ts'
import { deleteSpace, listDeletedSpaces, restoreSpace } from '../domain/deleted-spaces.ts'
import type { SpaceRow } from '../queries/spaces.ts'
import type { PortalGuard } from './guard.ts'
import { answerList } from './lists.ts'
import { presentSpace } from './spaces.ts'

const tags = ['Spaces']

const present = (row: SpaceRow): Static<typeof DeletedSpace> => ({
  ...presentSpace(row),
  deletedAt: row.deleted_at?.toISOString() ?? '',
  deletedBy: { qxId: row.deleted_by_id ?? '', name: row.deleted_by_name ?? '' },
  removedAfter: row.remove_after?.toISOString() ?? '',
})

export function deletedSpaceRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'DELETE',
    url: '/v1/spaces/:spaceId',
    ...guard('deleteSpace'),
    schema: {
      tags,
      summary: 'Delete a space: it is closed at once, and its data is removed after a grace period',
      params: SpaceParams,
      response: { 204: NoContent, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      await deleteSpace(ctx, request.params.spaceId, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })

  scope.route({
    method: 'GET',
    url: '/v1/admin/deleted-spaces',
    ...guard('listDeletedSpaces'),
    schema: {
      tags,
      summary: 'List the deleted spaces that can still be brought back',
      querystring: DeletedSpaceQuery,
      response: { 200: DeletedSpaceList, ...errors(400, 403) },
    },
    handler: async (request, reply) =>
      answerList(reply, await listDeletedSpaces(ctx, request.query), present),
  })

  scope.route({
    method: 'POST',
    url: '/v1/admin/deleted-spaces/:deletedSpaceId([^/]+)::restore',
    ...guard('restoreSpace'),
    schema: {
      tags,
      summary: 'Bring a deleted space back, with all that it had',
      params: DeletedSpaceParams,
      response: { 200: withEtag(Space), ...bodyErrors, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      const { deletedSpaceId } = request.params
      const row = await restoreSpace(ctx, deletedSpaceId, actOf(request), ifMatchVersions(request))
      setEtag(reply, row.version)
      return presentSpace(row)
    },
  })
}
