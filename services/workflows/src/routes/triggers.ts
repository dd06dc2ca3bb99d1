import { actOf } from '@atrium/access'
import { ifMatchOfUpsert, ifMatchVersions, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { WorkflowsContext } from '../context.ts'
import { bodyErrors, errors, ListQuery, NoContent, spaceErrors, WorkflowParams } from '../contract/common.ts'
import { Run } from '../contract/runs.ts'
import {
  Trigger,
  TriggerCreationParams,
  TriggerInput,
  TriggerList,
  TriggerParams,
} from '../contract/triggers.ts'
import {
  deleteTrigger,
  getTrigger,
  invokeTrigger,
  listTriggers,
  putTrigger,
  rotateSecret,
} from '../domain/triggers.ts'
import type { TriggerRow } from '../queries/triggers.ts'
import { sendList, timestamp } from './answers.ts'
import type { WorkflowsGuard } from './guard.ts'
import { presentRun } from './runs.ts'

const tags = ['Triggers']
const path = '/v1/spaces/:spaceId/workflows/:workflowId/triggers'

const present = (row: TriggerRow, webhookUrl?: string): Trigger => ({
  workflowId: row.workflow_id,
  triggerId: row.trigger_id,
  type: row.type,
  stage: row.stage,
  enabled: row.enabled,
  config: {
    signatureValidation: row.signature_validation,
    ...(row.schedule === null ? {} : { schedule: row.schedule }),
    timezone: row.timezone,
  },
  ...(webhookUrl === undefined ? {} : { webhookUrl }),
  createdAt: timestamp(row.created_at),
  updatedAt: timestamp(row.updated_at),
})

export function triggerRoutes(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  writing(scope, ctx, guard)
  reading(scope, ctx, guard)
  acts(scope, ctx, guard)
}

function writing(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'PUT',
    url: `${path}/:triggerId`,
    ...guard('putTrigger'),
    schema: {
      tags,
      summary: 'Make a trigger, or change the one of this id',
      params: TriggerCreationParams,
      body: TriggerInput,
      response: {
        200: withEtag(Trigger),
        201: withEtag(Trigger),
        ...bodyErrors,
        ...errors(403, 404, 409, 412),
      },
    },
    handler: async (request, reply) => {
      const versions = ifMatchOfUpsert(request)
      const put = await putTrigger(ctx, request.params, request.body, actOf(request), versions)
      setEtag(reply, put.row.row_version)
      return reply.code(put.isNew ? 201 : 200).send(present(put.row, put.webhookUrl))
    },
  })

  scope.route({
    method: 'DELETE',
    url: `${path}/:triggerId`,
    ...guard('deleteTrigger'),
    schema: {
      tags,
      summary: 'Delete a trigger: its address is unknown, its schedule ends',
      params: TriggerParams,
      response: { 204: NoContent, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      await deleteTrigger(ctx, request.params, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}

function reading(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'GET',
    url: path,
    ...guard('listTriggers'),
    schema: {
      tags,
      summary: 'List the triggers of a workflow',
      params: WorkflowParams,
      querystring: ListQuery,
      response: { 200: TriggerList, ...errors(400, 403, 404) },
    },
    handler: async (request, reply) => {
      const { spaceId, workflowId } = request.params
      const found = await listTriggers(ctx, spaceId, workflowId, request.query)
      return reply.send(sendList(reply, found, (row) => present(row)))
    },
  })

  scope.route({
    method: 'GET',
    url: `${path}/:triggerId`,
    ...guard('getTrigger'),
    schema: {
      tags,
      summary: 'Get a trigger',
      params: TriggerParams,
      response: { 200: withEtag(Trigger), ...spaceErrors },
    },
    handler: async (request, reply) => {
      const row = await getTrigger(ctx, request.params)
      setEtag(reply, row.row_version)
      return present(row)
    },
  })
}

function acts(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'POST',
    url: `${path}/:triggerId([^/]+)::invoke`,
    ...guard('invokeTrigger'),
    schema: {
      tags,
      summary: 'Start the run that a trigger stands for, enabled or not',
      params: TriggerParams,
      response: { 201: withEtag(Run), ...bodyErrors, ...errors(403, 404, 422) },
    },
    handler: async (request, reply) => {
      const row = await invokeTrigger(ctx, request.params, actOf(request))
      setEtag(reply, row.row_version)
      return reply.code(201).send(presentRun(row))
    },
  })

  scope.route({
    method: 'POST',
    url: `${path}/:triggerId([^/]+)::rotate-secret`,
    ...guard('rotateTriggerSecret'),
    schema: {
      tags,
      summary: 'Give a webhook a new secret: its old address stops working',
      params: TriggerParams,
      response: { 200: withEtag(Trigger), ...bodyErrors, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      const changed = await rotateSecret(ctx, request.params, actOf(request), ifMatchVersions(request))
      setEtag(reply, changed.row.row_version)
      return present(changed.row, changed.webhookUrl)
    },
  })
}
