import { actOf } from '@atrium/access'
import { ifMatchOfUpsert, ifMatchVersions, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { WorkflowsContext } from '../context.ts'
import { bodyErrors, errors, ListQuery, NoContent, SpaceParams, spaceErrors } from '../contract/common.ts'
import { Secret, SecretCreationParams, SecretInput, SecretList, SecretParams } from '../contract/secrets.ts'
import { deleteSecret, getSecret, listSecrets, putSecret } from '../domain/secrets.ts'
import type { SecretRow } from '../queries/secrets.ts'
import { sendList, timestamp } from './answers.ts'
import type { WorkflowsGuard } from './guard.ts'

const tags = ['Secrets']
const path = '/v1/spaces/:spaceId/secrets'

const present = (row: SecretRow): Secret => ({
  name: row.name,
  createdAt: timestamp(row.created_at),
  updatedAt: timestamp(row.updated_at),
  updatedBy: row.updated_by,
})

export function secretRoutes(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  writing(scope, ctx, guard)
  reading(scope, ctx, guard)
}

function writing(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'PUT',
    url: `${path}/:name`,
    ...guard('putSecret'),
    schema: {
      tags,
      summary: 'Write a secret, which tasks get and nobody reads back',
      params: SecretCreationParams,
      body: SecretInput,
      response: {
        200: withEtag(Secret),
        201: withEtag(Secret),
        ...bodyErrors,
        ...errors(403, 404, 409, 412),
      },
    },
    handler: async (request, reply) => {
      const { spaceId, name } = request.params
      const act = actOf(request)
      const versions = ifMatchOfUpsert(request)
      const { row, isNew } = await putSecret(ctx, spaceId, name, request.body.value, act, versions)
      setEtag(reply, row.row_version)
      return reply.code(isNew ? 201 : 200).send(present(row))
    },
  })

  scope.route({
    method: 'DELETE',
    url: `${path}/:name`,
    ...guard('deleteSecret'),
    schema: {
      tags,
      summary: 'Delete a secret; tasks that refer to it fail from then on',
      params: SecretParams,
      response: { 204: NoContent, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId, name } = request.params
      await deleteSecret(ctx, spaceId, name, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}

function reading(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'GET',
    url: path,
    ...guard('listSecrets'),
    schema: {
      tags,
      summary: 'List the secrets of a space, without their values',
      params: SpaceParams,
      querystring: ListQuery,
      response: { 200: SecretList, ...errors(400, 403, 404) },
    },
    handler: async (request, reply) => {
      const found = await listSecrets(ctx, request.params.spaceId, request.query)
      return reply.send(sendList(reply, found, present))
    },
  })

  scope.route({
    method: 'GET',
    url: `${path}/:name`,
    ...guard('getSecret'),
    schema: {
      tags,
      summary: 'Get when and by whom a secret was written; never its value',
      params: SecretParams,
      response: { 200: withEtag(Secret), ...spaceErrors },
    },
    handler: async (request, reply) => {
      const row = await getSecret(ctx, request.params.spaceId, request.params.name)
      setEtag(reply, row.row_version)
      return present(row)
    },
  })
}
