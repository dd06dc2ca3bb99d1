import { actOf, callerOf } from '@atrium/access'
import { ifMatchVersions, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { Static } from 'typebox'
import type { PortalContext } from '../context.ts'
import { bodyErrors, errors, NoContent, SpaceParams } from '../contract/common.ts'
import { SpaceWithWorkflows, SpaceWorkflowsQuery } from '../contract/space-workflows.ts'
import {
  KnownWorkspaceParams,
  Workspace,
  WorkspaceChanges,
  WorkspaceCore,
  WorkspaceInput,
  WorkspaceParams,
  WorkspaceQuery,
} from '../contract/workspaces.ts'
import {
  createWorkspace,
  deleteWorkspace,
  listSpacesWithWorkflows,
  listWorkspaces,
  updateWorkspace,
} from '../domain/workspaces.ts'
import type { SpaceWorkspacesRow, WorkspaceRow } from '../queries/workspaces.ts'
import { streamed } from './arrays.ts'
import { presentStamps } from './authors.ts'
import type { PortalGuard } from './guard.ts'
import { answerArray } from './lists.ts'

const tags = ['Workspaces']
const path = '/v1/spaces/:spaceId/mkflw-workspaces'

const presentCore = (row: WorkspaceRow): Static<typeof WorkspaceCore> => ({
  workspaceId: row.workspace_id,
  spaceId: row.space_id,
  region: row.region,
  clusterName: row.cluster_name,
  namespaceName: row.namespace_name,
})

const present = (row: WorkspaceRow): Static<typeof Workspace> => ({
  ...presentCore(row),
  ...presentStamps(row),
})

const presentSpace = (row: SpaceWorkspacesRow): Static<typeof SpaceWithWorkflows> => ({
  spaceId: row.space_id,
  spaceName: row.space_name,
  description: row.description,
  appId: row.app_id,
  itsmServiceOffering: row.itsm_service_offering,
  workspaces: row.workspaces,
})

export function workspaceRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  workspaceCollection(scope, ctx, guard)
  oneWorkspace(scope, ctx, guard)
}

function workspaceCollection(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'POST',
    url: path,
    ...guard('createWorkspace'),
    schema: {
      tags,
      summary: 'Link a workspace of the workflow platform to a space',
      params: SpaceParams,
      body: WorkspaceInput,
      response: { 201: withEtag(WorkspaceCore), ...bodyErrors, ...errors(403, 404, 409) },
    },
    handler: async (request, reply) => {
      const { spaceId } = request.params
      const row = await createWorkspace(ctx, spaceId, request.body, actOf(request))
      setEtag(reply, row.version)
      return reply.code(201).send(presentCore(row))
    },
  })

  scope.route({
    method: 'GET',
    url: path,
    ...guard('listWorkspaces'),
    schema: {
      tags,
      summary: 'List the workspaces of a space',
      params: SpaceParams,
      querystring: WorkspaceQuery,
      response: { 200: streamed(Workspace), ...errors(400, 403, 404) },
    },
    handler: async (request, reply) => {
      const batches = listWorkspaces(ctx, request.params.spaceId, request.query)
      return reply.send(answerArray(reply, batches, present))
    },
  })
}

function oneWorkspace(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'PATCH',
    url: `${path}/:mkflwworkspaceId`,
    ...guard('updateWorkspace'),
    schema: {
      tags,
      summary: 'Change the given fields of a workspace',
      params: WorkspaceParams,
      body: WorkspaceChanges,
      response: { 200: withEtag(WorkspaceCore), ...bodyErrors, ...errors(403, 404, 409, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId, mkflwworkspaceId } = request.params
      const act = actOf(request)
      const versions = ifMatchVersions(request)
      const row = await updateWorkspace(ctx, spaceId, mkflwworkspaceId, request.body, act, versions)
      setEtag(reply, row.version)
      return presentCore(row)
    },
  })

  scope.route({
    method: 'DELETE',
    url: `${path}/:mkflwworkspaceId`,
    ...guard('deleteWorkspace'),
    schema: {
      tags,
      summary: 'Unlink a workspace from a space',
      params: KnownWorkspaceParams,
      response: { 204: NoContent, ...errors(400, 403, 404, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId, mkflwworkspaceId } = request.params
      await deleteWorkspace(ctx, spaceId, mkflwworkspaceId, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}

export function spaceWorkflowRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'GET',
    url: '/v1/spaces-with-workflows',
    ...guard('listSpacesWithWorkflows'),
    schema: {
      tags,
      summary: 'List the spaces that have workspaces, with them',
      querystring: SpaceWorkflowsQuery,
      response: { 200: streamed(SpaceWithWorkflows), ...errors(400) },
    },
    handler: async (request, reply) => {
      const batches = await listSpacesWithWorkflows(ctx, callerOf(request), request.query)
      return reply.send(answerArray(reply, batches, presentSpace))
    },
  })
}
