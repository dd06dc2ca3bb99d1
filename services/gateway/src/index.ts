import path from 'node:path'
import { createRateLimits, rateLimitOf } from '@atrium/access'
import type { EnvValues } from '@atrium/kernel/config'
import type { PlatformDeps } from '@atrium/kernel/deps'
import type { HttpServer } from '@atrium/kernel/http'
import type { Job } from '@atrium/kernel/jobs'
import { every } from '@atrium/kernel/lifecycle'
import { createBackendFinder } from './adapters/find-backends.ts'
import { createUsageStore } from './adapters/usage-store.ts'
import type { gatewayEnv } from './config.ts'
import { Budgets } from './domain/budgets.ts'
import { builtInCatalogue, loadCatalogue, type Region } from './domain/catalogue.ts'
import { Circuits } from './domain/circuits.ts'
import { replayJournals } from './domain/journal-replay.ts'
import { createLanguageModels, type LanguageModels } from './domain/language-models.ts'
import { createGatewayMetrics } from './domain/metrics.ts'
import { ModelDirectory, summaryOf } from './domain/model-directory.ts'
import { OpenCalls } from './domain/open-calls.ts'
import { createTokenCounter } from './domain/token-counter.ts'
import { UsageRecorder } from './domain/usage-recorder.ts'
import type { BudgetLeases, CostRecorder, KeyDirectory, UsageRow } from './ports.ts'
import { mountRegion } from './routes/index.ts'
import { ownLimitOf } from './routes/key-guard.ts'

export { gatewayAccess } from './access.ts'
export type { LanguageModel, LanguageModels } from './domain/language-models.ts'
export type { BudgetLeases, CostRecorder, KeyDirectory, KeyHolder, UsageRow } from './ports.ts'
export { gatewayEnv, gatewayMigrations } from './setup.ts'

/** What other services use, in any process with the gateway's environment. */
export interface GatewayPorts {
  readonly backends: {
    /** One line for each backend that was found, for the start log; no secrets. */
    summary(): string[]
  }
  /** The chat and responses models of all regions, whether they are served at the moment or not. */
  readonly models: LanguageModels
  /** Of all its costs. */
  readonly currency: string
  close(): Promise<void>
}

export interface Gateway extends GatewayPorts {
  /** Adds `/llm` and `/llm-cn`. */
  mount(app: HttpServer): Promise<void>
  readonly jobs: readonly Job[]
  /**
   * Waits until all calls are charged and brings the usage to the database; while that is away, it stays in the journal
   * for the next process. Call it when no request comes any more.
   */
  close(): Promise<void>
}

export interface GatewayPortsOptions extends Pick<PlatformDeps, 'log'> {
  readonly env: EnvValues<typeof gatewayEnv>
  readonly nodeEnv: string
  /** Where this platform listens: not a model server. */
  readonly ownPort: number
}

export interface GatewayOptions extends PlatformDeps, GatewayPortsOptions {
  readonly keys: KeyDirectory
  readonly costs: CostRecorder
  readonly budgets: BudgetLeases
}

/** How often journals of processes that died beside this one are looked for. */
const REPLAY_EVERY_MS = 60_000

/** The ports, with what they share with the routes: the catalogue, and who serves its models. */
async function openPorts(options: GatewayPortsOptions) {
  const { env, log } = options
  const catalogue = await loadCatalogue(env.ATRIUM_MODELS ?? builtInCatalogue)
  const finder = createBackendFinder(env, catalogue, options)
  const directory = new ModelDirectory({ catalogue, find: finder.find, canChange: finder.canChange, log })
  await directory.open()
  const ports: GatewayPorts = {
    backends: {
      summary: () => directory.summary(),
    },
    models: createLanguageModels(directory),
    currency: catalogue.currency,
    async close() {
      await directory.close()
      await finder.close()
    },
  }
  return { ports, directory }
}

/**
 * The ports alone, for a process that does not serve the gateway.
 * @throws OperatorError when the catalogue is not valid
 */
export const createGatewayPorts = async (options: GatewayPortsOptions): Promise<GatewayPorts> =>
  (await openPorts(options)).ports

/**
 * Reads the catalogue, finds the backends and takes over what dead processes left in their journals.
 * @throws OperatorError when the catalogue is not valid
 */
export async function createGateway(options: GatewayOptions): Promise<Gateway> {
  const { env, log, pool, keys } = options
  const { ports, directory } = await openPorts(options)
  const folder = path.join(options.dataDir, 'gateway')
  const store = createUsageStore({ pool, costs: options.costs, log })
  const replay = async (): Promise<void> => void (await replayJournals(folder, store, log))
  const warnOfReplay = (err: unknown): void =>
    log.warn({ err }, 'the usage journals of ended processes could not be recorded; trying again')
  await replay().catch(warnOfReplay)
  const budgets = new Budgets({ leases: options.budgets, log })
  const onRecorded = (rows: readonly UsageRow[]): void => budgets.recorded(rows)
  const recorder = new UsageRecorder({ folder, currency: ports.currency, store, log, onRecorded })
  const stopReplaying = every(REPLAY_EVERY_MS, replay, warnOfReplay)

  const metrics = createGatewayMetrics(options.metrics, () => recorder.lagBytes)
  const counter = createTokenCounter()
  const limits = createRateLimits({
    ...options,
    service: 'gateway',
    limit: rateLimitOf(env.ATRIUM_GATEWAY_RATE_LIMIT, env.ATRIUM_GATEWAY_RATE_LIMIT_BURST),
    limitOf: ownLimitOf,
  })
  const circuits = new Circuits()
  const calls = new OpenCalls()
  const contextOf = (region: Region) => ({
    models: directory[region],
    lookForModels: () => directory.lookForCaller(),
    circuits,
    calls,
    recorder,
    budgets,
    counter,
    metrics,
  })

  return {
    ...ports,
    async mount(app) {
      await mountRegion(app, 'row', contextOf('row'), keys, limits)
      await mountRegion(app, 'cn', contextOf('cn'), keys, limits)
    },
    jobs: [],
    async close() {
      await stopReplaying()
      calls.cutOffUnattended()
      await ports.close()
      await calls.ended()
      await recorder.close()
      await budgets.close()
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
  return available.map(summaryOf)
}
