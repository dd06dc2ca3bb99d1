import { actOf } from '@atrium/access'
import {
  compileValidator,
  ifMatchOfUpsert,
  ifMatchVersions,
  type ServiceScope,
  setEtag,
  withEtag,
} from '@atrium/kernel/http'
import type { WorkflowsContext } from '../context.ts'
import { bodyErrors, errors, NoContent, PagedQuery, spaceErrors, WorkflowParams } from '../contract/common.ts'
import {
  Validation,
  Version,
  VersionCreationParams,
  VersionDraft,
  VersionInput,
  VersionPage,
  VersionParams,
} from '../contract/versions.ts'
import { deleteVersion, getVersion, listVersions, putVersion, validateTasks } from '../domain/versions.ts'
import type { VersionRow } from '../queries/versions.ts'
import { sendPage, timestamp } from './answers.ts'
import type { WorkflowsGuard } from './guard.ts'

const tags = ['Versions']
const path = '/v1/spaces/:spaceId/workflows/:workflowId/versions'

const present = (row: VersionRow): Version => ({
  workflowId: row.workflow_id,
  versionId: row.version_id,
  tasks: row.tasks.map(({ dependencies, ...task }) => ({ ...task, dependencies: [...dependencies] })),
  createdAt: timestamp(row.created_at),
  updatedAt: timestamp(row.updated_at),
})

export function versionRoutes(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  writing(scope, ctx, guard)
  validation(scope, guard)
  reading(scope, ctx, guard)
}

function writing(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'PUT',
    url: `${path}/:versionId`,
    ...guard('putVersion'),
    schema: {
      tags,
      summary: 'Make a version, or replace the one of this id',
      params: VersionCreationParams,
      body: VersionInput,
      response: { 201: withEtag(Version), ...bodyErrors, ...errors(403, 404, 409, 412) },
    },
    // What is wrong with tasks is told at once, and in the words of `versions:validate`.
    validatorCompiler: (part) =>
      compileValidator(part.httpPart === 'body' ? { ...part, schema: VersionDraft } : part),
    handler: async (request, reply) => {
      const { tasks } = request.body
      const row = await putVersion(ctx, request.params, tasks, actOf(request), ifMatchOfUpsert(request))
      setEtag(reply, row.row_version)
      return reply.code(201).send(present(row))
    },
  })

  scope.route({
    method: 'DELETE',
    url: `${path}/:versionId`,
    ...guard('deleteVersion'),
    schema: {
      tags,
      summary: 'Delete a version, and the stage assignments that refer to it',
      params: VersionParams,
      response: { 204: NoContent, ...errors(403, 404, 409, 412) },
    },
    handler: async (request, reply) => {
      await deleteVersion(ctx, request.params, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}

function validation(scope: ServiceScope, guard: WorkflowsGuard): void {
  scope.route({
    method: 'POST',
    url: `${path}::validate`,
    ...guard('validateVersion'),
    schema: {
      tags,
      summary: 'Tell all that is wrong with the tasks of a version, without keeping them',
      params: WorkflowParams,
      body: VersionDraft,
      response: { 200: Validation, ...bodyErrors, ...spaceErrors },
    },
    handler: (request) => {
      const faults = validateTasks(request.params.workflowId, request.body.tasks)
      return { valid: faults.length === 0, errors: [...faults] }
    },
  })
}

function reading(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'GET',
    url: path,
    ...guard('listVersions'),
    schema: {
      tags,
      summary: 'List the versions of a workflow, a page at a time',
      params: WorkflowParams,
      querystring: PagedQuery,
      response: { 200: VersionPage, ...errors(400, 403, 404) },
    },
    handler: async (request, reply) => {
      const { spaceId, workflowId } = request.params
      const { rows, ...page } = await listVersions(ctx, spaceId, workflowId, request.query)
      return reply.send(sendPage(reply, 'versions', rows, present, page))
    },
  })

  scope.route({
    method: 'GET',
    url: `${path}/:versionId`,
    ...guard('getVersion'),
    schema: {
      tags,
      summary: 'Get a version',
      params: VersionParams,
      response: { 200: withEtag(Version), ...spaceErrors },
    },
    handler: async (request, reply) => {
      const row = await getVersion(ctx, request.params)
      setEtag(reply, row.row_version)
      return present(row)
    },
  })
}
