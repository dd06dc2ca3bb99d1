import { actOf } from '@atrium/access'
import { ifMatchVersions, optionalBody, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { AgentsContext } from '../context.ts'
import {
  bodyErrors,
  errors,
  ListQuery,
  MetadataQuery,
  NoContent,
  spaceErrors,
  streamed,
} from '../contract/common.ts'
import {
  type ContentPart,
  Message,
  MessageChanges,
  MessageInput,
  MessageListQuery,
  MessageParams,
  type Usage,
} from '../contract/messages.ts'
import { ThreadParams } from '../contract/threads.ts'
import {
  createMessage,
  deleteMessage,
  getMessage,
  listMessages,
  queryMessages,
  updateMessage,
} from '../domain/messages.ts'
import type { MessageRow } from '../queries/messages.ts'
import { sendArray, timestamp } from './answers.ts'
import type { AgentsGuard } from './guard.ts'

const tags = ['Messages']
const path = '/v1/spaces/:spaceId/agent/:agentId/thread/:threadId/message'

const present = (row: MessageRow): Message => ({
  messageId: row.message_id,
  spaceId: row.space_id,
  threadId: row.thread_id,
  role: row.role,
  content: row.content as ContentPart[],
  metadata: row.metadata,
  ...(row.model === null ? {} : { model: row.model }),
  ...(row.usage === null ? {} : { usage: row.usage as Usage }),
  createdAt: timestamp(row.created_at),
})

export function messageRoutes(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  messageCreation(scope, ctx, guard)
  messageLists(scope, ctx, guard)
  oneMessage(scope, ctx, guard)
}

function messageCreation(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  scope.route({
    method: 'POST',
    url: path,
    ...guard('createMessage'),
    schema: {
      tags,
      summary: 'Add a message to a thread',
      params: ThreadParams,
      body: MessageInput,
      response: { 201: withEtag(Message), ...bodyErrors, ...spaceErrors },
    },
    handler: async (request, reply) => {
      const row = await createMessage(ctx, request.params, request.body, actOf(request))
      setEtag(reply, row.version)
      return reply.code(201).send(present(row))
    },
  })
}

function messageLists(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  scope.route({
    method: 'GET',
    url: path,
    ...guard('listMessages'),
    schema: {
      tags,
      summary: 'List the messages of a thread in the order of their creation',
      params: ThreadParams,
      querystring: MessageListQuery,
      response: { 200: streamed(Message), ...errors(400, 403, 404) },
    },
    handler: async (request, reply) =>
      reply.send(sendArray(reply, await listMessages(ctx, request.params, request.query), present)),
  })

  scope.route({
    method: 'QUERY',
    url: path,
    ...guard('queryMessages'),
    schema: {
      tags,
      summary: 'Find the messages of a thread by their metadata',
      params: ThreadParams,
      querystring: ListQuery,
      body: optionalBody(MetadataQuery),
      response: { 200: streamed(Message), ...bodyErrors, ...spaceErrors },
    },
    handler: async (request, reply) => {
      const batches = await queryMessages(ctx, request.params, request.body, request.query)
      return reply.send(sendArray(reply, batches, present))
    },
  })
}

function oneMessage(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  scope.route({
    method: 'GET',
    url: `${path}/:messageId`,
    ...guard('getMessage'),
    schema: {
      tags,
      summary: 'Get a message',
      params: MessageParams,
      response: { 200: withEtag(Message), ...spaceErrors },
    },
    handler: async (request, reply) => {
      const row = await getMessage(ctx, request.params)
      setEtag(reply, row.version)
      return present(row)
    },
  })

  scope.route({
    method: 'PATCH',
    url: `${path}/:messageId`,
    ...guard('updateMessage'),
    schema: {
      tags,
      summary: 'Change the content or the metadata of a message',
      params: MessageParams,
      body: MessageChanges,
      response: { 200: withEtag(Message), ...bodyErrors, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      const row = await updateMessage(
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
    url: `${path}/:messageId`,
    ...guard('deleteMessage'),
    schema: {
      tags,
      summary: 'Delete a message',
      params: MessageParams,
      response: { 204: NoContent, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      await deleteMessage(ctx, request.params, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}
