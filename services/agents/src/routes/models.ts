import type { ServiceScope } from '@atrium/kernel/http'
import Type from 'typebox'
import type { AgentsContext } from '../context.ts'
import { errors } from '../contract/common.ts'
import { Model } from '../contract/models.ts'
import type { AgentsGuard } from './guard.ts'

export function modelRoutes(scope: ServiceScope, ctx: AgentsContext, guard: AgentsGuard): void {
  scope.route({
    method: 'GET',
    url: '/v1/models',
    ...guard('listModels'),
    schema: {
      tags: ['Models'],
      summary: 'List the language models that agents can use',
      response: { 200: Type.Array(Model), ...errors() },
    },
    handler: () => ctx.models.list().map(({ name, provider }) => ({ modelId: name, name, provider })),
  })
}
