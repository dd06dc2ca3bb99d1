import { actOf, callerOf } from '@atrium/access'
import { ifMatchVersions, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { Static } from 'typebox'
import type { PortalContext } from '../context.ts'
import { bodyErrors, errors, SpaceParams } from '../contract/common.ts'
import { ArrayQuery, Space, SpaceChanges, SpaceDetail, SpaceInput } from '../contract/spaces.ts'
import { createSpace, getSpace, listSpaces, updateSpace } from '../domain/spaces.ts'
import type { SpaceDetailRow, SpaceRow } from '../queries/spaces.ts'
import { streamed } from './arrays.ts'
import { presentAuthors } from './authors.ts'
import type { PortalGuard } from './guard.ts'
import { answerArray } from './lists.ts'

const tags = ['Spaces']

export const presentSpace = (row: SpaceRow): Static<typeof Space> => ({
  spaceId: row.space_id,
  spaceName: row.space_name,
  appId: row.app_id,
  description: row.description,
  itsmServiceOffering: row.itsm_service_offering,
  createdAt: row.created_at.toISOString(),
})

const presentDetail = (row: SpaceDetailRow): Static<typeof SpaceDetail> => ({
  ...presentSpace(row),
  ...presentAuthors(row),
  user: { role: row.role ?? 'none', superuser: row.superuser ?? false },
  userCount: row.user_count,
  kubeflowPipelinesCount: row.workspace_count,
  apiKeysCount: row.key_count,
  cdhCount: row.link_count,
})

export function spaceRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  spaceCollection(scope, ctx, guard)
  oneSpace(scope, ctx, guard)
}

function spaceCollection(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'POST',
    url: '/v1/spaces',
    ...guard('createSpace'),
    schema: {
      tags,
      summary: 'Create a space',
      body: SpaceInput,
      response: { 201: withEtag(Space), ...bodyErrors, ...errors(403) },
    },
    handler: async (request, reply) => {
      const row = await createSpace(ctx, request.body, actOf(request))
      setEtag(reply, row.version)
      return reply.code(201).send(presentSpace(row))
    },
  })

  scope.route({
    method: 'GET',
    url: '/v1/spaces',
    ...guard('listSpaces'),
    schema: {
      tags,
      summary: 'List the spaces that the caller has a role in; a superuser sees all',
      querystring: ArrayQuery,
      response: { 200: streamed(Space), ...errors(400) },
    },
    handler: async (request, reply) => {
      const batches = await listSpaces(ctx, callerOf(request), request.query)
      return reply.send(answerArray(reply, batches, presentSpace))
    },
  })
}

function oneSpace(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'GET',
    url: '/v1/spaces/:spaceId',
    ...guard('getSpace'),
    schema: {
      tags,
      summary: 'Read a space, with its counts and the caller’s relation to it',
      params: SpaceParams,
      response: { 200: withEtag(SpaceDetail), ...errors(403, 404) },
    },
    handler: async (request, reply) => {
      const row = await getSpace(ctx, request.params.spaceId, callerOf(request))
      setEtag(reply, row.version)
      return presentDetail(row)
    },
  })

  scope.route({
    method: 'PATCH',
    url: '/v1/spaces/:spaceId',
    ...guard('updateSpace'),
    schema: {
      tags,
      summary: 'Change the given fields of a space',
      params: SpaceParams,
      body: SpaceChanges,
      response: { 200: withEtag(Space), ...bodyErrors, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId } = request.params
      const act = actOf(request)
      const row = await updateSpace(ctx, spaceId, request.body, act, ifMatchVersions(request))
      setEtag(reply, row.version)
      return presentSpace(row)
    },
  })
}
