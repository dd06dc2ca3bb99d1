import type { ServiceScope } from '@atrium/kernel/http'
import type { FastifyRequest } from 'fastify'
import Type from 'typebox'
import type { GatewayContext } from '../context.ts'
import { errors, Model, ModelList } from '../contract/index.ts'
import { idTooLong } from '../errors.ts'
import type { RouteGuards } from './index.ts'

/** As long as any part of a path. */
const LONGEST_ID = 256

/** What is too long for the route of one part comes to that of several. */
async function demandShortId({ params }: FastifyRequest): Promise<void> {
  if ((params as { '*': string })['*'].length > LONGEST_ID) throw idTooLong()
}

/** The models of the region that can be called; one by one also those that nobody serves now (`available`). */
export function modelRoutes(scope: ServiceScope, context: GatewayContext, guard: RouteGuards): void {
  scope.route({
    method: 'GET',
    url: '/v1/models',
    ...guard('listModels'),
    schema: {
      tags: ['Models'],
      summary: 'List the models of this region',
      description: 'Those that can be called now. `kind` says by which operation.',
      response: { 200: ModelList, ...errors(429) },
    },
    handler: () => ({ object: 'list' as const, data: context.models.list() }),
  })

  const card = async (model: string) => {
    if (!context.models.serves(model)) await context.lookForModels()
    return context.models.card(model)
  }

  scope.route({
    method: 'GET',
    url: '/v1/models/:model',
    ...guard('retrieveModel'),
    schema: {
      tags: ['Models'],
      summary: 'Get one model',
      params: Type.Object({ model: Type.String() }),
      response: { 200: Model, ...errors(404, 429) },
    },
    handler: ({ params }) => card(params.model),
  })

  // Ids such as `org/model`, from clients that do not encode the slash.
  const guarded = guard('retrieveModel')
  scope.route({
    method: 'GET',
    url: '/v1/models/*',
    ...guarded,
    onRequest: [demandShortId, ...guarded.onRequest],
    schema: {
      hide: true,
      params: Type.Object({ '*': Type.String() }),
      response: { 200: Model, ...errors(404, 429) },
    },
    handler: ({ params }) => card(params['*']),
  })
}
