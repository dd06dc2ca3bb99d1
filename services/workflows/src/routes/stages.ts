import { actOf } from '@atrium/access'
import { ifMatchOfUpsert, ifMatchVersions, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { WorkflowsContext } from '../context.ts'
import { bodyErrors, errors, ListQuery, NoContent, spaceErrors, WorkflowParams } from '../contract/common.ts'
import {
  StageAssignment,
  StageAssignmentList,
  StageAssignmentParams,
  StageInput,
  StageParams,
} from '../contract/stages.ts'
import { assignStage, getStage, listStages, unassignStage } from '../domain/stages.ts'
import type { StageAssignmentRow } from '../queries/stages.ts'
import { partOf, timestamp } from './answers.ts'
import type { WorkflowsGuard } from './guard.ts'

const tags = ['Stages']
const path = '/v1/spaces/:spaceId/workflows/:workflowId/stages'

const present = (row: StageAssignmentRow): StageAssignment => ({
  workflowId: row.workflow_id,
  stage: row.stage,
  versionId: row.version_id,
  configurationId: row.configuration_id,
  assignedAt: timestamp(row.assigned_at),
  assignedBy: row.assigned_by,
})

export function stageRoutes(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  writing(scope, ctx, guard)
  reading(scope, ctx, guard)
}

function writing(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'PUT',
    url: `${path}/:stage`,
    ...guard('assignStage'),
    schema: {
      tags,
      summary: 'Promote a version to a stage, with a configuration or without',
      params: StageAssignmentParams,
      body: StageInput,
      response: {
        200: withEtag(StageAssignment),
        201: withEtag(StageAssignment),
        ...bodyErrors,
        ...errors(403, 404, 412),
      },
    },
    handler: async (request, reply) => {
      const { params, body } = request
      const { row, isNew } = await assignStage(ctx, params, body, actOf(request), ifMatchOfUpsert(request))
      setEtag(reply, row.row_version)
      return reply.code(isNew ? 201 : 200).send(present(row))
    },
  })

  scope.route({
    method: 'DELETE',
    url: `${path}/:stage`,
    ...guard('unassignStage'),
    schema: {
      tags,
      summary: 'Take away what is assigned to a stage',
      params: StageParams,
      response: { 204: NoContent, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      await unassignStage(ctx, request.params, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}

function reading(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'GET',
    url: path,
    ...guard('listStages'),
    schema: {
      tags,
      summary: 'List what is assigned to the stages of a workflow, in the order of promotion',
      params: WorkflowParams,
      querystring: ListQuery,
      response: { 200: StageAssignmentList, ...errors(400, 403, 404) },
    },
    handler: async (request) => {
      const { spaceId, workflowId } = request.params
      const rows = await listStages(ctx, spaceId, workflowId)
      return { items: partOf(rows, request.query).map(present), totalCount: rows.length }
    },
  })

  scope.route({
    method: 'GET',
    url: `${path}/:stage`,
    ...guard('getStage'),
    schema: {
      tags,
      summary: 'Get what is assigned to a stage',
      params: StageParams,
      response: { 200: withEtag(StageAssignment), ...spaceErrors },
    },
    handler: async (request, reply) => {
      const row = await getStage(ctx, request.params)
      setEtag(reply, row.row_version)
      return present(row)
    },
  })
}
