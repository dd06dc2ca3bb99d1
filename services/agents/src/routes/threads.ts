import { actOf } from '@atrium/access'
import { ifMatchVersions, optionalBody, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { AgentsContext } from '../context.ts'
import { AgentParams } from '../contract/agents.ts'
import {
  bodyErrors,
  errors,
  ListQuery,
  MetadataQuery,
  NoContent,
  spaceErrors,
  streamed,
} from '../contract/common.ts'
import { Thread, ThreadInput, ThreadListQuery, ThreadParams } from '../contract/threads.ts'
import {
  createThread,
  deleteThread,
  getThread,
  listThreads,
  queryThreads,
  updateThread,
} from '../domain/threads.ts'
import type { ThreadRow } from '../queries/threads.ts'
import { sendArray, timestamp } from './answers.ts'
import type { AgentsGuard } from './guard.ts'

const tags = ['Threads']
const path = '/v1/spaces/:spaceId/agent/:agentId/thread'

const present = (row: ThreadRow): Thread => ({
  threadId: row.thread_id,
  ...(row.title === null ? {} : { title: row.title }),
  spaceId: row.space_id,
  agentId: row.agent_id,
  status: row.status,
  metadata: row.metadata,
  createdAt: timestamp(row.created_at),
  updatedAt: timestamp(row.updated_at),
  lastMessageAt: row.last_message_at === null ? null : timestamp(row.last_message_at),
})

export function threadRoutes(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  threadCreation(scope, ctx, guard)
  threadLists(scope, ctx, guard)
  oneThread(scope, ctx, guard)
}

function threadCreation(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  scope.route({
    method: 'POST',
    url: path,
    ...guard('createThread'),
    schema: {
      tags,
      summary: 'Begin a thread of an agent',
      params: AgentParams,
      body: optionalBody(ThreadInput),
      response: { 201: withEtag(Thread), ...bodyErrors, ...spaceErrors },
    },
    handler: async (request, reply) => {
      const row = await createThread(
        ctx,
        request.params.spaceId,
        request.params.agentId,
        request.body ?? {},
        actOf(request),
      )
      setEtag(reply, row.version)
      return reply.code(201).send(present(row))
    },
  })
}

function threadLists(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  scope.route({
    method: 'GET',
    url: path,
    ...guard('listThreads'),
    schema: {
      tags,
      summary: 'List the threads of an agent',
      params: AgentParams,
      querystring: ThreadListQuery,
      response: { 200: streamed(Thread), ...errors(400, 403, 404) },
    },
    handler: async (request, reply) => {
      const { spaceId, agentId } = request.params
      const batches = await listThreads(ctx, spaceId, agentId, request.query)
      return reply.send(sendArray(reply, batches, present))
    },
  })

  scope.route({
    method: 'QUERY',
    url: path,
    ...guard('queryThreads'),
    schema: {
      tags,
      summary: 'Find the threads of an agent by their metadata',
      params: AgentParams,
      querystring: ListQuery,
      body: optionalBody(MetadataQuery),
      response: { 200: streamed(Thread), ...bodyErrors, ...spaceErrors },
    },
    handler: async (request, reply) => {
      const { spaceId, agentId } = request.params
      const batches = await queryThreads(ctx, spaceId, agentId, request.body, request.query)
      return reply.send(sendArray(reply, batches, present))
    },
  })
}

function oneThread(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  scope.route({
    method: 'GET',
    url: `${path}/:threadId`,
    ...guard('getThread'),
    schema: {
      tags,
      summary: 'Get a thread',
      params: ThreadParams,
      response: { 200: withEtag(Thread), ...spaceErrors },
    },
    handler: async (request, reply) => {
      const row = await getThread(ctx, request.params)
      setEtag(reply, row.version)
      return present(row)
    },
  })

  scope.route({
    method: 'PATCH',
    url: `${path}/:threadId`,
    ...guard('updateThread'),
    schema: {
      tags,
      summary: 'Change the given fields of a thread',
      params: ThreadParams,
      body: ThreadInput,
      response: { 200: withEtag(Thread), ...bodyErrors, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      const row = await updateThread(
        ctx,
        request.params,
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
    url: `${path}/:threadId`,
    ...guard('deleteThread'),
    schema: {
      tags,
      summary: 'Delete a thread with all its messages',
      params: ThreadParams,
      response: { 204: NoContent, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      await deleteThread(ctx, request.params, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}
