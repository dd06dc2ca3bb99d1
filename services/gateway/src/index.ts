import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { EnvValues } from '@atrium/kernel/config'
import { createDatabase, type Kysely, type MigrationSet } from '@atrium/kernel/db'
import type { PlatformDeps } from '@atrium/kernel/deps'
import type { HttpServer } from '@atrium/kernel/http'
import type { Job } from '@atrium/kernel/jobs'
import { every } from '@atrium/kernel/lifecycle'
import { createBackendFinder } from './adapters/find-backends.ts'
import { createUsageStore } from './adapters/usage-store.ts'
import type { gatewayEnv } from './config.ts'
import { builtInCatalogue, loadCatalogue, type Region } from './domain/catalogue.ts'
import { Circuits } from './domain/circuits.ts'
import { replayJournals } from './domain/journal-replay.ts'
import { createLanguageModels, type LanguageModels } from './domain/language-models.ts'
import { ModelDirectory } from './domain/model-directory.ts'
import { type RateLimit, RateLimiter } from './domain/rate-limiter.ts'
import { createTokenCounter } from './domain/token-counter.ts'
import { UsageRecorder } from './domain/usage-recorder.ts'
import { createGatewayMetrics, type GatewayMetrics } from './metrics.ts'
import type { CostRecorder, KeyDirectory } from './ports.ts'
import { leaseTokens } from './queries/rate-buckets.ts'
import { mountRegion } from './routes/index.ts'

export { gatewayAccess } from './access.ts'
export { gatewayEnv } from './config.ts'
export type { LanguageModel, LanguageModels } from './domain/language-models.ts'
export type { CostRecorder, KeyDirectory, KeyHolder, UsageRow } from './ports.ts'

export const gatewayMigrations: MigrationSet = {
  schema: 'gateway',
  folder: fileURLToPath(new URL('../migrations', import.meta.url)),
}

export interface Gateway {
  /** Adds `/llm` and `/llm-cn`. */
  mount(app: HttpServer): Promise<void>
  readonly backends: {
    /** One line for each backend that was found, for the start log; no secrets. */
    summary(): string[]
  }
  /** The chat and responses models of all regions, whether they are served at the moment or not. */
  readonly models: LanguageModels
  /** Of all its costs. */
  readonly currency: string
  readonly jobs: readonly Job[]
  /** Brings all usage to the database. Call it when no request is under way any more. */
  close(): Promise<void>
}

export interface GatewayOptions extends PlatformDeps {
  readonly env: EnvValues<typeof gatewayEnv>
  readonly keys: KeyDirectory
  readonly costs: CostRecorder
  readonly nodeEnv: string
  /** Where this platform listens: not a model server. */
  readonly ownPort: number
}

/** How often journals of processes that died beside this one are looked for. */
const REPLAY_EVERY_MS = 60_000

/**
 * Reads the catalogue, finds the backends and takes over what dead processes left in their journals.
 * @throws OperatorError when the catalogue is not valid
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { env, log, pool, keys } = options
  const catalogue = await loadCatalogue(env.ATRIUM_MODELS ?? builtInCatalogue)
  const finder = createBackendFinder(env, catalogue, options)
  const directory = new ModelDirectory({ catalogue, find: finder.find, canChange: finder.canChange, log })
  await directory.open()

  const folder = path.join(options.dataDir, 'gateway')
  const store = createUsageStore({ pool, costs: options.costs, log })
  const replay = async (): Promise<void> => void (await replayJournals(folder, store, log))
  const warnOfReplay = (err: unknown): void =>
    log.warn({ err }, 'the usage journals of ended processes could not be recorded; trying again')
  await replay().catch(warnOfReplay)
  const recorder = new UsageRecorder({ folder, currency: catalogue.currency, store, log })
  const stopReplaying = every(REPLAY_EVERY_MS, replay, warnOfReplay)

  const metrics = createGatewayMetrics(options.metrics, () => recorder.lagBytes)
  const counter = createTokenCounter()
  const limiter = createLimiter(options, metrics)
  const circuits = new Circuits()
  const contextOf = (region: Region) => ({
    models: directory[region],
    lookForModels: () => directory.lookForCaller(),
    circuits,
    limiter,
    rateLimit: rateLimitOf(env),
    recorder,
    counter,
    metrics,
  })

  return {
    async mount(app) {
      await mountRegion(app, 'row', contextOf('row'), keys)
      await mountRegion(app, 'cn', contextOf('cn'), keys)
    },
    backends: {
      summary: () => directory.summary(),
    },
    models: createLanguageModels(directory),
    currency: catalogue.currency,
    jobs: [],
    async close() {
      await stopReplaying()
      await directory.close()
      await finder.close()
      await recorder.close()
      await counter.close()
    },
  }
}

/** What a gateway with this environment would find, a line a backend, without starting one. */
export async function describeBackends(
  env: GatewayOptions['env'],
  where: { nodeEnv: string; ownPort: number },
): Promise<string[]> {
  const catalogue = await loadCatalogue(env.ATRIUM_MODELS ?? builtInCatalogue)
  const finder = createBackendFinder(env, catalogue, where)
  const { available } = await finder.find()
  await finder.close()
  return available.map(({ backend }) => backend.summary)
}

function rateLimitOf(env: GatewayOptions['env']): RateLimit | undefined {
  const perMinute = env.ATRIUM_GATEWAY_RATE_LIMIT
  if (perMinute === undefined) return undefined
  return { perMinute, burst: env.ATRIUM_GATEWAY_RATE_LIMIT_BURST ?? perMinute }
}

function createLimiter({ pool, log }: GatewayOptions, metrics: GatewayMetrics): RateLimiter {
  const db: Kysely<unknown> = createDatabase(pool)
  return new RateLimiter({
    lease: (request) => leaseTokens(db, request),
    onFailure: (err) => {
      metrics.limiterFailure()
      log.warn({ err }, 'the shared rate limit could not be asked; calls are let through')
    },
  })
}
