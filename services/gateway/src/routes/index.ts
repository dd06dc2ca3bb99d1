import type { RateLimits } from '@atrium/access'
import { type HttpServer, mountService } from '@atrium/kernel/http'
import type { FastifyContextConfig, FastifyReply, FastifyRequest } from 'fastify'
import type { gatewayAccess } from '../access.ts'
import type { GatewayContext } from '../context.ts'
import { GatewayError } from '../contract/index.ts'
import type { Region } from '../domain/catalogue.ts'
import { formatError } from '../errors.ts'
import type { KeyDirectory } from '../ports.ts'
import { chatCompletionRoutes } from './chat-completions.ts'
import { embeddingsRoutes } from './embeddings.ts'
import { createKeyGuard, demandBudget } from './key-guard.ts'
import { modelRoutes } from './models.ts'
import { keepRawBodies } from './request-body.ts'

/** How the reference groups the operations. */
const TAGS = [
  { name: 'Models', description: 'What the region offers' },
  { name: 'Chat', description: 'Completions of conversations, whole and streamed' },
  { name: 'Embeddings', description: 'Vectors of texts' },
]

/** Route options that let API keys in and count their calls against the key's limit. */
export type RouteGuards = (operation: keyof typeof gatewayAccess) => {
  readonly config: FastifyContextConfig
  readonly onRequest: ((request: FastifyRequest, reply: FastifyReply) => Promise<void>)[]
}

const REGIONS = {
  row: { prefix: '/llm', title: 'Atrium gateway', where: 'Rest of world' },
  cn: { prefix: '/llm-cn', title: 'Atrium gateway (China)', where: 'China' },
} as const

/** Every route of one region; all of them are for API keys. */
export async function mountRegion(
  app: HttpServer,
  region: Region,
  context: GatewayContext,
  keys: KeyDirectory,
  limits: RateLimits,
): Promise<void> {
  const keyGuard = createKeyGuard(keys, limits, region)
  const guard: RouteGuards = (operation) => {
    const { config, onRequest } = keyGuard(operation)
    return { config, onRequest: [onRequest, demandBudget] }
  }
  const { prefix, title, where } = REGIONS[region]
  await mountService(app, {
    prefix,
    title,
    description: `${where}: one OpenAI-compatible interface to every model that the company has contracted.`,
    tags: TAGS,
    version: '1.0.0',
    formatError,
    errorBody: GatewayError,
    routes(scope) {
      keepRawBodies(scope)
      modelRoutes(scope, context, guard)
      chatCompletionRoutes(scope, context, guard)
      embeddingsRoutes(scope, context, guard)
    },
  })
}
