import { actOf } from '@atrium/access'
import {
  ifMatchVersions,
  optionalBody,
  pageRequest,
  paginationOf,
  type ServiceScope,
  setEtag,
  withEtag,
} from '@atrium/kernel/http'
import type { AgentsContext } from '../context.ts'
import {
  Agent,
  AgentChanges,
  AgentCreationQuery,
  AgentInput,
  AgentListQuery,
  AgentPage,
  AgentPageQuery,
  AgentParams,
  CreatedAgent,
} from '../contract/agents.ts'
import {
  bodyErrors,
  errors,
  MetadataQuery,
  NoContent,
  SpaceParams,
  spaceErrors,
  streamed,
} from '../contract/common.ts'
import { createAgent, deleteAgent, getAgent, listAgents, queryAgents, updateAgent } from '../domain/agents.ts'
import type { AgentRow } from '../queries/agents.ts'
import { sendArray, sendPage, timestamp } from './answers.ts'
import type { AgentsGuard } from './guard.ts'

const tags = ['Agents']
const path = '/v1/spaces/:spaceId/agent'

const present = (row: AgentRow): Agent => ({
  agentId: row.agent_id,
  spaceId: row.space_id,
  name: row.name,
  instructions: row.instructions,
  description: row.description,
  model: row.model,
  provider: row.provider,
  outputFormat: row.output_format,
  createdAt: timestamp(row.created_at),
  updatedAt: timestamp(row.updated_at),
  createdBy: row.created_by,
  ...(row.updated_by === null ? {} : { updatedBy: row.updated_by }),
  defaultParameters: row.default_parameters,
  metadata: row.metadata,
})

export function agentRoutes(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  agentCollection(scope, ctx, guard)
  agentQuery(scope, ctx, guard)
  oneAgent(scope, ctx, guard)
}

function agentCollection(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  scope.route({
    method: 'POST',
    url: path,
    ...guard('createAgent'),
    schema: {
      tags,
      summary: 'Create an agent',
      params: SpaceParams,
      querystring: AgentCreationQuery,
      body: AgentInput,
      response: { 201: withEtag(CreatedAgent), ...bodyErrors, ...spaceErrors },
    },
    handler: async (request, reply) => {
      const row = await createAgent(
        ctx,
        request.params.spaceId,
        request.query.model,
        request.body,
        actOf(request),
      )
      setEtag(reply, row.version)
      return reply.code(201).send({ agentId: row.agent_id, spaceId: row.space_id })
    },
  })

  scope.route({
    method: 'GET',
    url: path,
    ...guard('listAgents'),
    schema: {
      tags,
      summary: 'List the agents of a space',
      params: SpaceParams,
      querystring: AgentListQuery,
      response: { 200: streamed(Agent), ...errors(400, 403, 404) },
    },
    handler: async (request, reply) =>
      reply.send(sendArray(reply, await listAgents(ctx, request.params.spaceId, request.query), present)),
  })
}

function agentQuery(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  scope.route({
    method: 'QUERY',
    url: path,
    ...guard('queryAgents'),
    schema: {
      tags,
      summary: 'Find the agents of a space by their metadata',
      params: SpaceParams,
      querystring: AgentPageQuery,
      body: optionalBody(MetadataQuery),
      response: { 200: AgentPage, ...bodyErrors, ...spaceErrors },
    },
    handler: async (request, reply) => {
      const { rows, total } = await queryAgents(ctx, request.params.spaceId, request.body, request.query)
      return reply.send(sendPage(reply, rows, present, paginationOf(total, pageRequest(request.query))))
    },
  })
}

function oneAgent(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  scope.route({
    method: 'GET',
    url: `${path}/:agentId`,
    ...guard('getAgent'),
    schema: {
      tags,
      summary: 'Get an agent',
      params: AgentParams,
      response: { 200: withEtag(Agent), ...spaceErrors },
    },
    handler: async (request, reply) => {
      const row = await getAgent(ctx, request.params.spaceId, request.params.agentId)
      setEtag(reply, row.version)
      return present(row)
    },
  })

  scope.route({
    method: 'PATCH',
    url: `${path}/:agentId`,
    ...guard('updateAgent'),
    schema: {
      tags,
      summary: 'Change the given fields of an agent',
      params: AgentParams,
      body: AgentChanges,
      response: { 200: withEtag(Agent), ...bodyErrors, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId, agentId } = request.params
      const row = await updateAgent(
        ctx,
        spaceId,
        agentId,
        request.body,
        actOf(request),
        ifMatchVersions(request),
      )
      setEtag(reply, row.version)
      return present(row)
    },
  })

  scope.route({
    method: 'DELETE',
    url: `${path}/:agentId`,
    ...guard('deleteAgent'),
    schema: {
      tags,
      summary: 'Delete an agent with all its threads and messages',
      params: AgentParams,
      response: { 204: NoContent, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      await deleteAgent(
        ctx,
        request.params.spaceId,
        request.params.agentId,
        actOf(request),
        ifMatchVersions(request),
      )
      return reply.code(204).send(null)
    },
  })
}
