import type { OutgoingHttpHeaders } from 'node:http'
import type { AppError } from '@atrium/kernel/errors'
import type { ServiceScope } from '@atrium/kernel/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { GatewayContext } from '../context.ts'
import { ChatCompletionAnswer, ChatCompletionRequest, errors } from '../contract/index.ts'
import { type AnswerContent, readChatAnswer } from '../domain/answer-reader.ts'
import type { StreamedAnswer } from '../domain/backend.ts'
import type { Charge } from '../domain/charge.ts'
import { checkChatRequest } from '../domain/chat-request.ts'
import { mostOfChat } from '../domain/most-tokens.ts'
import { demandFieldsOnce } from '../domain/request-check.ts'
import { promptOf } from '../domain/token-counter.ts'
import type { RouteGuards } from './index.ts'
import { bodyOf } from './request-body.ts'
import { runCall, serveModel } from './serve-model.ts'
import { StreamRelay } from './stream-relay.ts'
import { sendWhole } from './whole-answer.ts'

/** OpenAI's chat completions, plain and as server-sent events. */
export function chatCompletionRoutes(scope: ServiceScope, context: GatewayContext, guard: RouteGuards): void {
  scope.route({
    method: 'POST',
    url: '/v1/chat/completions',
    ...guard('createChatCompletion'),
    schema: {
      tags: ['Chat'],
      summary: 'Create a chat completion',
      description:
        'With `stream: true` the answer is `text/event-stream`. Fields that are not listed are passed on to the backend.',
      body: ChatCompletionRequest,
      response: { 200: ChatCompletionAnswer, ...errors(400, 413, 422, 429, 502, 503, 504) },
    },
    // The body is checked by hand, since it must reach the backend as the bytes that came.
    validatorCompiler: () => () => true,
    handler: async (request, reply) => {
      await runCall(context, request, reply, createChatCompletion)
      return reply
    },
  })
}

async function createChatCompletion(
  context: GatewayContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { raw, value } = bodyOf(request)
  const chat = checkChatRequest(value)
  await demandFieldsOnce(raw, ChatCompletionRequest)
  const { answer, charge, content, deployment } = await serveModel(
    context,
    { request, reply },
    {
      kind: 'chat',
      raw,
      request: chat,
      isWhole: chat.stream !== true,
      promptOf: () => promptOf(chat),
      most: (model) => mostOfChat(raw, chat, model),
      read: readChatAnswer,
      serve: ({ backend }, call) => backend.chatCompletions?.(call),
    },
  )
  if (answer.kind === 'stream')
    return relay(context, request, reply, {
      answer,
      charge,
      hidesUsage: chat.stream_options?.include_usage !== true,
      model: chat.model,
      backend: deployment.backend.name,
    })
  if (content !== undefined) await chargeWhole(content, charge)
  sendWhole(reply, answer)
}

async function chargeWhole({ usage, text }: AnswerContent, charge: Charge): Promise<void> {
  if (usage !== undefined) return charge.settleInTurn(usage)
  charge.addText(text())
  return charge.settleInTurn(await charge.estimate())
}

function relay(
  context: GatewayContext,
  request: FastifyRequest,
  reply: FastifyReply,
  served: { answer: StreamedAnswer; charge: Charge; hidesUsage: boolean; model: string; backend: string },
): Promise<void> {
  const { answer, charge, hidesUsage, model, backend } = served
  reply.hijack()
  const response = reply.raw
  reply.headers(answer.headers).header('x-accel-buffering', 'no')
  response.writeHead(200, reply.getHeaders() as OutgoingHttpHeaders)
  response.flushHeaders()
  const { charged } = new StreamRelay({
    response,
    stream: answer.stream,
    charge,
    hidesUsage,
    requestId: request.id,
    backend,
    onFirstChunk: () => context.metrics.firstChunk(model, reply.elapsedTime),
    onFailure: (error: AppError) => {
      context.metrics.backendError(backend, error.code)
      request.log.warn({ err: error, requestId: request.id, backend }, 'a streamed answer broke off')
    },
  })
  return charged
}
