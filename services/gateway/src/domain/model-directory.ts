import { every } from '@atrium/kernel/lifecycle'
import type { Logger } from '@atrium/kernel/log'
import type { Catalogue, CatalogueModel } from './catalogue.ts'
import { type AvailableBackend, ModelRoutes, routeModels } from './model-routing.ts'

const LOOK_EVERY_MS = 30_000
/** Callers who ask for unknown models cause no more looks than this. */
const LOOK_FOR_CALLERS_EVERY_MS = 5_000

export interface FoundBackends {
  readonly available: readonly AvailableBackend[]
  /** Models that the backends serve and the catalogue does not know. */
  readonly extra: readonly CatalogueModel[]
}

export interface DirectoryOptions {
  readonly catalogue: Catalogue
  readonly find: () => Promise<FoundBackends>
  /** False: one look at the start is enough. */
  readonly canChange: boolean
  readonly log: Logger
  readonly lookEveryMs?: number
}

/**
 * The models of both regions and who serves them. Looks again from time to time, and when somebody asks for a model
 * that nobody serves, so that a server that starts later, or loads another model, needs no restart of this one.
 */
export class ModelDirectory {
  readonly row = new ModelRoutes('row')
  readonly cn = new ModelRoutes('cn')
  readonly #options: DirectoryOptions
  #stop: () => Promise<void> = async () => {}
  #found: FoundBackends = { available: [], extra: [] }
  #state = ''
  #looking: Promise<void> | undefined
  #askedAt = Number.NEGATIVE_INFINITY

  constructor(options: DirectoryOptions) {
    this.#options = options
  }

  /** The first look; later ones follow by themselves until `close`. */
  async open(): Promise<void> {
    await this.#look()
    const { canChange, log, lookEveryMs } = this.#options
    if (!canChange) return
    this.#stop = every(
      lookEveryMs ?? LOOK_EVERY_MS,
      () => this.#look(),
      (err) => log.warn({ err }, 'the model backends could not be looked for; trying again'),
    )
  }

  /** One line a backend, without secrets. */
  summary(): string[] {
    return this.#found.available.map(summaryOf)
  }

  /** Looks again for a caller whose model nobody serves; soon after the last time it does nothing. */
  async lookForCaller(): Promise<void> {
    if (!this.#options.canChange) return
    const now = performance.now()
    if (this.#looking === undefined && now - this.#askedAt < LOOK_FOR_CALLERS_EVERY_MS) return
    this.#askedAt = now
    await this.#look()
  }

  #look(): Promise<void> {
    this.#looking ??= this.#update().finally(() => {
      this.#looking = undefined
    })
    return this.#looking
  }

  async #update(): Promise<void> {
    const found = await this.#options.find()
    const state = JSON.stringify(
      found.available.map((one) => [summaryOf(one), one.served && [...one.served]]),
    )
    if (state === this.#state) return
    const isFirst = this.#state === ''
    this.#state = state
    this.#found = found
    const routes = routeModels(this.#options.catalogue, found.extra, found.available)
    this.row.replace(routes)
    this.cn.replace(routes)
    if (!isFirst) this.#options.log.info({ backends: this.summary() }, 'the models that are served changed')
  }

  async close(): Promise<void> {
    await this.#stop()
    await this.#looking?.catch(() => {})
  }
}

/** One line, without secrets; what is wrong with the backend stands in it. */
export const summaryOf = ({ backend, fault }: AvailableBackend): string =>
  fault === undefined ? backend.summary : `${backend.summary}: ${fault}`
