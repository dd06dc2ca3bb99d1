import { actOf } from '@atrium/access'
import { ifMatchOfUpsert, ifMatchVersions, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { WorkflowsContext } from '../context.ts'
import { bodyErrors, errors, ListQuery, NoContent, spaceErrors, WorkflowParams } from '../contract/common.ts'
import {
  Configuration,
  ConfigurationCreationParams,
  ConfigurationInput,
  ConfigurationList,
  ConfigurationParams,
} from '../contract/configurations.ts'
import {
  deleteConfiguration,
  getConfiguration,
  listConfigurations,
  putConfiguration,
} from '../domain/configurations.ts'
import type { ConfigurationRow } from '../queries/configurations.ts'
import { sendList, timestamp } from './answers.ts'
import type { WorkflowsGuard } from './guard.ts'

const tags = ['Configurations']
const path = '/v1/spaces/:spaceId/workflows/:workflowId/configurations'

const present = (row: ConfigurationRow): Configuration => ({
  configurationId: row.configuration_id,
  workflowId: row.workflow_id,
  data: row.data,
  createdAt: timestamp(row.created_at),
  updatedAt: timestamp(row.updated_at),
})

export function configurationRoutes(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  writing(scope, ctx, guard)
  reading(scope, ctx, guard)
}

function writing(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'PUT',
    url: `${path}/:configurationId`,
    ...guard('putConfiguration'),
    schema: {
      tags,
      summary: 'Make a configuration, or replace the one of this id',
      params: ConfigurationCreationParams,
      body: ConfigurationInput,
      response: {
        200: withEtag(Configuration),
        201: withEtag(Configuration),
        ...bodyErrors,
        ...errors(403, 404, 409, 412),
      },
    },
    handler: async (request, reply) => {
      const { data } = request.body
      const act = actOf(request)
      const { row, isNew } = await putConfiguration(ctx, request.params, data, act, ifMatchOfUpsert(request))
      setEtag(reply, row.row_version)
      return reply.code(isNew ? 201 : 200).send(present(row))
    },
  })

  scope.route({
    method: 'DELETE',
    url: `${path}/:configurationId`,
    ...guard('deleteConfiguration'),
    schema: {
      tags,
      summary: 'Delete a configuration that is bound to no stage',
      params: ConfigurationParams,
      response: { 204: NoContent, ...errors(403, 404, 409, 412) },
    },
    handler: async (request, reply) => {
      await deleteConfiguration(ctx, request.params, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}

function reading(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'GET',
    url: path,
    ...guard('listConfigurations'),
    schema: {
      tags,
      summary: 'List the configurations of a workflow',
      params: WorkflowParams,
      querystring: ListQuery,
      response: { 200: ConfigurationList, ...errors(400, 403, 404) },
    },
    handler: async (request, reply) => {
      const { spaceId, workflowId } = request.params
      const found = await listConfigurations(ctx, spaceId, workflowId, request.query)
      return reply.send(sendList(reply, found, present))
    },
  })

  scope.route({
    method: 'GET',
    url: `${path}/:configurationId`,
    ...guard('getConfiguration'),
    schema: {
      tags,
      summary: 'Get a configuration',
      params: ConfigurationParams,
      response: { 200: withEtag(Configuration), ...spaceErrors },
    },
    handler: async (request, reply) => {
      const row = await getConfiguration(ctx, request.params)
      setEtag(reply, row.row_version)
      return present(row)
    },
  })
}
