import { actorOf, callerOf } from '@atrium/access'
import { ifMatchVersions, type ServiceScope, setEtag } from '@atrium/kernel/http'
import type { Static } from 'typebox'
import {
  type ApiKey,
  ApiKeyInput,
  ApiKeyList,
  ApiKeyParams,
  ApiKeyQuery,
  CreatedApiKey,
} from '../contract/api-keys.ts'
import { bodyErrors, errors, NoContent, SpaceParams } from '../contract/common.ts'
import { createApiKey, revokeApiKey } from '../domain/api-keys.ts'
import type { PortalContext } from '../domain/context.ts'
import { type ApiKeyRow, listApiKeyRows } from '../queries/api-keys.ts'
import { presentStamps } from './authors.ts'
import type { PortalGuard } from './guard.ts'

const tags = ['API keys']

const present = (row: ApiKeyRow): Static<typeof ApiKey> => ({
  apiKeyId: row.key_id,
  spaceId: row.space_id,
  name: row.name,
  expiryDate: row.expires_at.toISOString(),
  apiKeyArn: `arn:atrium:apikey:${row.space_id}:****${row.last_four}`,
  status: row.status,
  ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at.toISOString() }),
  ...(row.last_used_at === null ? {} : { lastUsedAt: row.last_used_at.toISOString() }),
  ...presentStamps(row),
})

export function apiKeyRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'POST',
    url: '/v1/spaces/:spaceId/apikeys',
    ...guard('createApiKey'),
    schema: {
      tags,
      summary: 'Create an API key; its value is shown this once',
      params: SpaceParams,
      body: ApiKeyInput,
      response: { 201: CreatedApiKey, ...bodyErrors, ...errors(403, 404) },
    },
    handler: async (request, reply) => {
      const { spaceId } = request.params
      const { row, value } = await createApiKey(ctx, spaceId, request.body, actorOf(callerOf(request)))
      setEtag(reply, row.version)
      return reply.code(201).send({ ...present(row), apiKeyValue: value })
    },
  })

  scope.route({
    method: 'GET',
    url: '/v1/spaces/:spaceId/apikeys',
    ...guard('listApiKeys'),
    schema: {
      tags,
      summary: 'List the API keys of a space, without their values',
      params: SpaceParams,
      querystring: ApiKeyQuery,
      response: { 200: ApiKeyList, ...errors(400, 403, 404) },
    },
    handler: async (request) => {
      const { rows, pagination } = await listApiKeyRows(ctx.db, request.params.spaceId, request.query)
      return { data: rows.map(present), pagination }
    },
  })

  scope.route({
    method: 'DELETE',
    url: '/v1/spaces/:spaceId/apikeys/:apiKeyId',
    ...guard('revokeApiKey'),
    schema: {
      tags,
      summary: 'Revoke an API key',
      params: ApiKeyParams,
      response: { 204: NoContent, ...errors(400, 403, 404, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId, apiKeyId } = request.params
      await revokeApiKey(ctx, spaceId, apiKeyId, actorOf(callerOf(request)), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}
