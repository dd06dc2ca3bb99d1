import { actOf } from '@atrium/access'
import { ifMatchOfUpsert, ifMatchVersions, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { WorkflowsContext } from '../context.ts'
import {
  bodyErrors,
  errors,
  ListQuery,
  NoContent,
  SpaceParams,
  spaceErrors,
  WorkflowParams,
} from '../contract/common.ts'
import { Workflow, WorkflowCreationParams, WorkflowInput, WorkflowList } from '../contract/workflows.ts'
import { deleteWorkflow, getWorkflow, listWorkflows, putWorkflow } from '../domain/workflows.ts'
import type { WorkflowRow } from '../queries/workflows.ts'
import { sendList, timestamp } from './answers.ts'
import type { WorkflowsGuard } from './guard.ts'

const tags = ['Workflows']
const path = '/v1/spaces/:spaceId/workflows'

const present = (row: WorkflowRow): Workflow => ({
  spaceId: row.space_id,
  workflowId: row.workflow_id,
  name: row.name,
  maxParallelRuns: row.max_parallel_runs,
  createdAt: timestamp(row.created_at),
  updatedAt: timestamp(row.updated_at),
})

export function workflowRoutes(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  writing(scope, ctx, guard)
  reading(scope, ctx, guard)
}

function writing(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'PUT',
    url: `${path}/:workflowId`,
    ...guard('putWorkflow'),
    schema: {
      tags,
      summary: 'Make a workflow, or change the one of this id',
      params: WorkflowCreationParams,
      body: WorkflowInput,
      response: { 201: withEtag(Workflow), ...bodyErrors, ...errors(403, 404, 409, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId, workflowId } = request.params
      const row = await putWorkflow(
        ctx,
        spaceId,
        workflowId,
        request.body,
        actOf(request),
        ifMatchOfUpsert(request),
      )
      setEtag(reply, row.row_version)
      return reply.code(201).send(present(row))
    },
  })

  scope.route({
    method: 'DELETE',
    url: `${path}/:workflowId`,
    ...guard('deleteWorkflow'),
    schema: {
      tags,
      summary: 'Delete a workflow with all its versions, configurations, triggers and runs',
      params: WorkflowParams,
      response: { 204: NoContent, ...errors(403, 404, 409, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId, workflowId } = request.params
      await deleteWorkflow(ctx, spaceId, workflowId, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}

function reading(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'GET',
    url: path,
    ...guard('listWorkflows'),
    schema: {
      tags,
      summary: 'List the workflows of a space',
      params: SpaceParams,
      querystring: ListQuery,
      response: { 200: WorkflowList, ...errors(400, 403, 404) },
    },
    handler: async (request, reply) => {
      const found = await listWorkflows(ctx, request.params.spaceId, request.query)
      return reply.send(sendList(reply, found, present))
    },
  })

  scope.route({
    method: 'GET',
    url: `${path}/:workflowId`,
    ...guard('getWorkflow'),
    schema: {
      tags,
      summary: 'Get a workflow',
      params: WorkflowParams,
      response: { 200: withEtag(Workflow), ...spaceErrors },
    },
    handler: async (request, reply) => {
      const row = await getWorkflow(ctx, request.params.spaceId, request.params.workflowId)
      setEtag(reply, row.row_version)
      return present(row)
    },
  })
}
