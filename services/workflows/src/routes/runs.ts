import { actOf } from '@atrium/access'
import { ifMatchVersions, type ServiceScope, setEtag, streamObject, withEtag } from '@atrium/kernel/http'
import type { WorkflowsContext } from '../context.ts'
import { bodyErrors, errors, NoContent, spaceErrors, WorkflowParams } from '../contract/common.ts'
import {
  type ListedRun,
  OnceHeaders,
  OptionalRunInput,
  Run,
  RunListQuery,
  RunPage,
  RunParams,
  RunQuery,
} from '../contract/runs.ts'
import { createRun } from '../domain/runs/create-run.ts'
import { cancelRun, deleteRun, getRun, listRuns, retryRun } from '../domain/runs/runs.ts'
import type { FullRunRow, RunRow } from '../queries/runs.ts'
import { timestamp } from './answers.ts'
import type { WorkflowsGuard } from './guard.ts'

const tags = ['Runs']
const path = '/v1/spaces/:spaceId/workflows/:workflowId/runs'

const optional = (date: Date | null): string | null => (date === null ? null : timestamp(date))

const presentListed = (row: RunRow): ListedRun => ({
  workflowId: row.workflow_id,
  runId: row.run_id,
  stage: row.stage,
  versionId: row.version_id,
  configurationId: row.configuration_id,
  triggerId: row.trigger_id,
  status: row.status,
  attempt: row.attempt,
  createdBy: row.created_by,
  createdAt: timestamp(row.created_at),
  startedAt: optional(row.started_at),
  completedAt: optional(row.completed_at),
  message: row.message,
  tasks: [...row.tasks].map((task) => ({ ...task, dependencies: [...task.dependencies] })),
})

/** A run as single answers show it. */
export const presentRun = (row: FullRunRow): Run => ({
  ...presentListed(row),
  resolvedConfiguration: row.resolved_configuration,
})

export function runRoutes(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  creation(scope, ctx, guard)
  reading(scope, ctx, guard)
  acts(scope, ctx, guard)
}

function creation(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'POST',
    url: path,
    ...guard('createRun'),
    schema: {
      tags,
      summary: 'Run a version',
      params: WorkflowParams,
      querystring: RunQuery,
      headers: OnceHeaders,
      body: OptionalRunInput,
      response: { 201: withEtag(Run), ...bodyErrors, ...errors(403, 404, 409, 422) },
    },
    handler: async (request, reply) => {
      const { configuration, configurationId } = request.body ?? {}
      const act = actOf(request)
      const row = await createRun(
        ctx,
        { ...request.params, ...request.query, configuration, configurationId },
        { act, createdBy: act.qxId },
        request.headers['idempotency-key'],
      )
      setEtag(reply, row.row_version)
      return reply.code(201).send(presentRun(row))
    },
  })
}

function reading(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'GET',
    url: path,
    ...guard('listRuns'),
    schema: {
      tags,
      summary: 'List the runs of a workflow, the newest first',
      params: WorkflowParams,
      querystring: RunListQuery,
      response: { 200: RunPage, ...errors(400, 403, 404) },
    },
    handler: async (request, reply) => {
      const { pageSize, pageToken, status, versionId, stage } = request.query
      const { runs, next, total } = await listRuns(
        ctx,
        request.params,
        { status, versionId, stage },
        { pageSize, ...(pageToken === undefined ? {} : { pageToken }) },
      )
      void reply.type('application/json; charset=utf-8')
      const others = { nextPageToken: next, totalSize: total }
      return reply.send(streamObject('runs', runs, presentListed, others))
    },
  })

  scope.route({
    method: 'GET',
    url: `${path}/:runId`,
    ...guard('getRun'),
    schema: {
      tags,
      summary: 'Get a run as it stands',
      params: RunParams,
      response: { 200: withEtag(Run), ...spaceErrors },
    },
    handler: async (request, reply) => {
      const row = await getRun(ctx, request.params)
      setEtag(reply, row.row_version)
      return presentRun(row)
    },
  })
}

function acts(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'POST',
    url: `${path}/:runId([^/]+)::cancel`,
    ...guard('cancelRun'),
    schema: {
      tags,
      summary: 'Ask for the end of a run; one that ended stays as it is',
      params: RunParams,
      response: { 200: withEtag(Run), ...bodyErrors, ...spaceErrors },
    },
    handler: async (request, reply) => {
      const row = await cancelRun(ctx, request.params, actOf(request))
      setEtag(reply, row.row_version)
      return presentRun(row)
    },
  })

  scope.route({
    method: 'POST',
    url: `${path}/:runId([^/]+)::retry`,
    ...guard('retryRun'),
    schema: {
      tags,
      summary: 'Run again what a failed run has not finished',
      params: RunParams,
      headers: OnceHeaders,
      response: { 200: withEtag(Run), ...bodyErrors, ...errors(403, 404, 409) },
    },
    handler: async (request, reply) => {
      const row = await retryRun(ctx, request.params, actOf(request), request.headers['idempotency-key'])
      setEtag(reply, row.row_version)
      return presentRun(row)
    },
  })

  scope.route({
    method: 'DELETE',
    url: `${path}/:runId`,
    ...guard('deleteRun'),
    schema: {
      tags,
      summary: 'Delete a run that ended, with its logs, metrics and artifacts',
      params: RunParams,
      response: { 204: NoContent, ...errors(403, 404, 409, 412) },
    },
    handler: async (request, reply) => {
      await deleteRun(ctx, request.params, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}
