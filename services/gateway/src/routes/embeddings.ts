import type { ServiceScope } from '@atrium/kernel/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { GatewayContext } from '../context.ts'
import { EmbeddingsList, EmbeddingsRequest, errors } from '../contract/index.ts'
import { readEmbeddings } from '../domain/answer-reader.ts'
import { checkEmbeddingsRequest, promptOfInputs } from '../domain/embeddings-request.ts'
import { mostOfEmbeddings } from '../domain/most-tokens.ts'
import { demandFieldsOnce } from '../domain/request-check.ts'
import { backendAnswerInvalid, invalidField } from '../errors.ts'
import type { RouteGuards } from './index.ts'
import { bodyOf } from './request-body.ts'
import { runCall, serveModel } from './serve-model.ts'
import { sendWhole } from './whole-answer.ts'

/** 2,048 inputs of the longest that models take fit well. */
const BODY_LIMIT = 64 * 1024 * 1024

/** OpenAI's embeddings. */
export function embeddingsRoutes(scope: ServiceScope, context: GatewayContext, guard: RouteGuards): void {
  scope.route({
    method: 'POST',
    url: '/v1/embeddings',
    ...guard('createEmbedding'),
    bodyLimit: BODY_LIMIT,
    schema: {
      tags: ['Embeddings'],
      summary: 'Create embeddings',
      description:
        '`input` is a text, a list of at most 2,048 texts, or the same as token numbers. Fields that are not listed are passed on to the backend.',
      body: EmbeddingsRequest,
      response: { 200: EmbeddingsList, ...errors(400, 413, 422, 429, 502, 503, 504) },
    },
    // The body is checked by hand, since it must reach the backend as the bytes that came.
    validatorCompiler: () => () => true,
    handler: async (request, reply) => {
      await runCall(context, request, reply, createEmbedding)
      return reply
    },
  })
}

async function createEmbedding(
  context: GatewayContext,
  http: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const { raw, value } = bodyOf(http)
  const request = checkEmbeddingsRequest(value)
  await demandFieldsOnce(raw, EmbeddingsRequest)
  const { answer, charge, content, deployment } = await serveModel(
    context,
    { request: http, reply },
    {
      kind: 'embeddings',
      raw,
      request,
      check: ({ name, dimensions }) => demandDimensions(request, name, dimensions),
      promptOf: () => promptOfInputs(request),
      most: () => mostOfEmbeddings(raw),
      read: readEmbeddings,
      serve: ({ backend }, call, { dimensions: modelDimensions }) =>
        backend.embeddings?.({ ...call, modelDimensions }),
    },
  )
  if (answer.kind === 'stream') {
    answer.stream.cancel()
    throw backendAnswerInvalid(deployment.backend.name, 'is a stream')
  }
  if (content !== undefined) await charge.settleInTurn(content.usage ?? (await charge.estimate()))
  sendWhole(reply, answer)
}

function demandDimensions({ dimensions }: EmbeddingsRequest, model: string, most: number | undefined): void {
  if (most !== undefined && dimensions != null && dimensions > most)
    throw invalidField('dimensions', `must be at most ${most} for ${model}`)
}
