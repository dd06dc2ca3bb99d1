import { actOf, callerOf } from '@atrium/access'
import { ifMatchVersions, optionalBody, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { Static } from 'typebox'
import type { PortalContext } from '../context.ts'
import {
  ApiKey,
  ApiKeyChanges,
  ApiKeyInput,
  ApiKeyList,
  ApiKeyParams,
  ApiKeyQuery,
  ApiKeyRotation,
  CreatedApiKey,
  KnownApiKeyParams,
  RotatedApiKey,
} from '../contract/api-keys.ts'
import { bodyErrors, errors, NoContent, SpaceParams } from '../contract/common.ts'
import {
  createApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
  statusOf,
  updateApiKey,
} from '../domain/api-keys.ts'
import type { ApiKeyRow } from '../queries/api-keys.ts'
import { presentStamps } from './authors.ts'
import type { PortalGuard } from './guard.ts'
import { answerList } from './lists.ts'

const tags = ['API keys']

const present = (row: ApiKeyRow): Static<typeof ApiKey> => ({
  apiKeyId: row.key_id,
  spaceId: row.space_id,
  name: row.name,
  expiryDate: row.expires_at.toISOString(),
  apiKeyArn: `arn:atrium:apikey:${row.space_id}:****${row.last_four}`,
  status: statusOf(row),
  ...(row.revoked_at === null ? {} : { revokedAt: row.revoked_at.toISOString() }),
  ...(row.last_used_at === null ? {} : { lastUsedAt: row.last_used_at.toISOString() }),
  ...(row.requests_per_minute === null ? {} : { requestsPerMinute: row.requests_per_minute }),
  ...(row.monthly_budget === null ? {} : { monthlyBudget: Number(row.monthly_budget) }),
  ...presentStamps(row),
})

export function apiKeyRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  apiKeyCollection(scope, ctx, guard)
  oneApiKey(scope, ctx, guard)
  apiKeyRotation(scope, ctx, guard)
}

function apiKeyCollection(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'POST',
    url: '/v1/spaces/:spaceId/apikeys',
    ...guard('createApiKey'),
    schema: {
      tags,
      summary: 'Create an API key; its value is shown this once',
      params: SpaceParams,
      body: ApiKeyInput,
      response: { 201: withEtag(CreatedApiKey), ...bodyErrors, ...errors(403, 404) },
    },
    handler: async (request, reply) => {
      const { spaceId } = request.params
      const { row, value } = await createApiKey(ctx, spaceId, request.body, actOf(request))
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
    handler: async (request, reply) =>
      answerList(reply, await listApiKeys(ctx, request.params.spaceId, request.query), present),
  })
}

function oneApiKey(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'PATCH',
    url: '/v1/spaces/:spaceId/apikeys/:apiKeyId',
    ...guard('updateApiKey'),
    schema: {
      tags,
      summary: 'Change an API key’s name, expiry and limits',
      description:
        'An owner may bring the expiry and the limits down; only a superuser extends, raises or removes them.',
      params: ApiKeyParams,
      body: ApiKeyChanges,
      response: { 200: withEtag(ApiKey), ...bodyErrors, ...errors(403, 404, 409, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId, apiKeyId } = request.params
      const caller = callerOf(request)
      const versions = ifMatchVersions(request)
      const row = await updateApiKey(ctx, spaceId, apiKeyId, request.body, caller, actOf(request), versions)
      setEtag(reply, row.version)
      return present(row)
    },
  })

  scope.route({
    method: 'DELETE',
    url: '/v1/spaces/:spaceId/apikeys/:apiKeyId',
    ...guard('revokeApiKey'),
    schema: {
      tags,
      summary: 'Revoke an API key',
      params: KnownApiKeyParams,
      response: { 204: NoContent, ...errors(400, 403, 404, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId, apiKeyId } = request.params
      await revokeApiKey(ctx, spaceId, apiKeyId, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}

function apiKeyRotation(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'POST',
    url: '/v1/spaces/:spaceId/apikeys/:apiKeyId([^/]+)::rotate',
    ...guard('rotateApiKey'),
    schema: {
      tags,
      summary: 'Give an API key a new value, shown this once; the old one works a while longer',
      params: ApiKeyParams,
      body: optionalBody(ApiKeyRotation),
      response: { 200: withEtag(RotatedApiKey), ...bodyErrors, ...errors(403, 404, 409, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId, apiKeyId } = request.params
      const { overlapSeconds } = request.body
      const versions = ifMatchVersions(request)
      const rotated = await rotateApiKey(ctx, spaceId, apiKeyId, overlapSeconds, actOf(request), versions)
      setEtag(reply, rotated.row.version)
      return {
        ...present(rotated.row),
        apiKeyValue: rotated.value,
        formerValidUntil: rotated.formerValidUntil.toISOString(),
      }
    },
  })
}
