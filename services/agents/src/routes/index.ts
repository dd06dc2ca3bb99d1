import { createGuard, type GuardDeps, type RateLimits } from '@atrium/access'
import { readJsonBodies, readLenientJson, type ServiceScope } from '@atrium/kernel/http'
import { isUuid } from '@atrium/kernel/ids'
import { agentsAccess } from '../access.ts'
import type { AgentsContext } from '../context.ts'
import { agentRoutes } from './agents.ts'
import { embeddingRoutes } from './embeddings.ts'
import { messageRoutes } from './messages.ts'
import { modelRoutes } from './models.ts'
import { searchRoutes } from './search.ts'
import { threadRoutes } from './threads.ts'
import { vectorStoreRoutes } from './vector-stores.ts'

/**
 * All routes of the service. Who may call which is in `access.ts`; `{S}` is `/v1/spaces/{spaceId}`.
 *
 *   anyone   GET /v1/models
 *   members  POST GET QUERY {S}/agent · GET PATCH DELETE {S}/agent/{agentId}
 *            the same for …/{agentId}/thread and …/thread/{threadId}/message
 *            POST GET {S}/vector-stores · GET PUT DELETE {S}/vector-stores/{vectorStoreId}
 *            POST GET DELETE …/{vectorStoreId}/embeddings
 *            POST …/{vectorStoreId}/search, keyword-search, keyword-filter-search, hybrid-search, evaluate
 */
export async function agentsRoutes(
  scope: ServiceScope,
  ctx: AgentsContext,
  access: GuardDeps,
  limits: RateLimits,
): Promise<void> {
  const guard = createGuard(agentsAccess, access, limits)
  // The database takes UUIDs in any case; names of files and of what is cached are text.
  scope.addHook('onRequest', async ({ params }) => lowerIds(params as Record<string, string>))
  // Texts are often cut off within a character: what is left of it is stored as U+FFFD.
  readJsonBodies(scope, readLenientJson)
  modelRoutes(scope, ctx, guard)
  agentRoutes(scope, ctx, guard)
  threadRoutes(scope, ctx, guard)
  messageRoutes(scope, ctx, guard)
  vectorStoreRoutes(scope, ctx, guard)
  await embeddingRoutes(scope, ctx, guard)
  searchRoutes(scope, ctx, guard)
}

function lowerIds(params: Record<string, string>): void {
  for (const [name, value] of Object.entries(params)) if (isUuid(value)) params[name] = value.toLowerCase()
}
