import { availableParallelism } from 'node:os'
import path from 'node:path'
import { type AuditLog, createRateLimits, type GuardDeps, rateLimitOf } from '@atrium/access'
import type { EnvValues } from '@atrium/kernel/config'
import { createDatabase } from '@atrium/kernel/db'
import type { PlatformDeps } from '@atrium/kernel/deps'
import { type HttpServer, mountService } from '@atrium/kernel/http'
import type { Job } from '@atrium/kernel/jobs'
import { KeyedSemaphore, Semaphore } from '@atrium/kernel/semaphore'
import { createEncoder } from './adapters/encoding/encoder.ts'
import { probeRetrieval } from './adapters/lancedb/probe.ts'
import { connectTo, Retrieval, type RetrievalLocation } from './adapters/lancedb/retrieval.ts'
import { UpkeepWorker } from './adapters/upkeep/upkeep-worker.ts'
import type { agentsEnv } from './config.ts'
import type { AgentsContext } from './context.ts'
import { ErrorBody } from './contract/common.ts'
import { createVocabulary } from './domain/keyword/vocabulary.ts'
import { LeakyBuckets } from './domain/leaky-buckets.ts'
import { Upkeep } from './domain/upkeep.ts'
import { formatError } from './errors.ts'
import { removeSpacesJob } from './jobs/remove-spaces.ts'
import { upkeepJobs } from './jobs/upkeep.ts'
import type { ModelCatalogue, SpaceDirectory } from './ports.ts'
import type { AgentsTables } from './queries/tables.ts'
import { agentsRoutes } from './routes/index.ts'

/** How the reference groups the operations. */
const TAGS = [
  { name: 'Models', description: 'What agents and vector stores can be made with' },
  { name: 'Agents', description: 'Instructions for a model, with its parameters' },
  { name: 'Threads', description: 'Conversations with an agent' },
  { name: 'Messages', description: 'What was said in a thread' },
  { name: 'Vector stores', description: 'Tables of embeddings, with how they were made' },
  { name: 'Embeddings', description: 'Vectors with their texts and metadata' },
  { name: 'Search', description: 'By vector, by words or by both, and how well that works' },
]

export { agentsAccess } from './access.ts'
export type { ModelCatalogue, ModelInfo, SpaceDirectory } from './ports.ts'
export { agentsRestored } from './queries/upkeep.ts'
export { agentsEnv, agentsMigrations } from './setup.ts'

export interface AgentsDeps extends PlatformDeps {
  readonly env: EnvValues<typeof agentsEnv>
  /** Who calls, and their roles. */
  readonly access: GuardDeps
  readonly models: ModelCatalogue
  readonly audit: AuditLog
  readonly spaces: SpaceDirectory
}

export interface Agents {
  /** Adds the routes below `/agents`. */
  mount(app: HttpServer): Promise<void>
  readonly jobs: readonly Job[]
  /** The pool stays open: it is the caller's. */
  close(): Promise<void>
}

/** Searches at once for each core. */
const SEARCHES_A_CORE = 8
/** Batches of one space in memory at once, of up to 64 MiB each: the others' clients wait to send theirs. */
const UPLOADS_A_SPACE = 8

/**
 * Numbers of vectors a second and core that a store takes while it is searched: 130 rows of 1,536. Reading, writing and
 * indexing them leaves most of the time to the searches; nothing but the searches' wait tells how much they need.
 */
const NUMBERS_A_CORE = 200_000

const locationOf = ({ env, dataDir }: Pick<AgentsDeps, 'env' | 'dataDir'>): RetrievalLocation => ({
  uri: env.ATRIUM_RETRIEVAL_URI ?? path.join(dataDir, 'retrieval'),
  cacheBytes: env.ATRIUM_RETRIEVAL_CACHE_MB * 1024 * 1024,
})

/** Whether embeddings can be kept. @returns where @throws OperatorError naming the variable to change */
export async function checkRetrieval(deps: Pick<AgentsDeps, 'env' | 'dataDir'>): Promise<string> {
  const location = locationOf(deps)
  await probeRetrieval(location)
  return location.uri
}

/** Builds the service on a migrated database. */
export async function createAgents(deps: AgentsDeps): Promise<Agents> {
  const { log, models } = deps
  const db = createDatabase<AgentsTables>(deps.pool)
  const location = locationOf(deps)
  const retrieval = new Retrieval(await connectTo(location), location.uri)
  const vocabulary = createVocabulary(db)
  const upkeep = new Upkeep({ db, retrieval, vocabulary, worker: new UpkeepWorker(location), log })
  const encoder = createEncoder()
  const searches = new Semaphore(SEARCHES_A_CORE * availableParallelism())
  const uploads = new KeyedSemaphore(UPLOADS_A_SPACE)
  const ingestRate = new LeakyBuckets(NUMBERS_A_CORE * availableParallelism())
  const ctx: AgentsContext = {
    db,
    models,
    log,
    audit: deps.audit,
    retrieval,
    encoder,
    vocabulary,
    upkeep,
    searches,
    uploads,
    ingestRate,
  }
  const limits = createRateLimits({
    ...deps,
    service: 'agents',
    limit: rateLimitOf(deps.env.ATRIUM_AGENTS_RATE_LIMIT, deps.env.ATRIUM_AGENTS_RATE_LIMIT_BURST),
  })
  return {
    mount: (app) =>
      mountService(app, {
        prefix: '/agents',
        title: 'Atrium agents',
        description: 'Agents, their threads and messages, vector stores and search.',
        tags: TAGS,
        version: '1.1',
        formatError,
        errorBody: ErrorBody,
        routes: (scope) => agentsRoutes(scope, ctx, deps.access, limits),
      }),
    jobs: [...upkeepJobs(upkeep), removeSpacesJob({ db, upkeep, spaces: deps.spaces })],
    async close() {
      await upkeep.close()
      await encoder.close()
      retrieval.close()
    },
  }
}
