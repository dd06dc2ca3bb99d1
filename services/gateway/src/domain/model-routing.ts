import type { AppError } from '@atrium/kernel/errors'
import type { Model, ModelKind } from '../contract/index.ts'
import { backendNotConfigured, modelNotFound, modelNotPriced, wrongEndpoint } from '../errors.ts'
import type { Backend } from './backend.ts'
import type { Catalogue, CatalogueModel, Region } from './catalogue.ts'

/** One way to serve a model. */
export interface Deployment {
  readonly backend: Backend
  /** The backend's own name for the model. */
  readonly model: string
}

/** A model of one region with the deployments that can serve it now, the first choice first. */
export interface ModelRoute {
  readonly model: CatalogueModel
  readonly deployments: readonly Deployment[]
  /** Why there is none. */
  readonly refusal: () => AppError
}

const ENDPOINTS: Readonly<Record<ModelKind, string>> = {
  chat: 'POST /v1/chat/completions',
  responses: 'POST /v1/responses',
  embeddings: 'POST /v1/embeddings',
  images: 'POST /v1/images/generations',
  video: 'POST /v1/videos',
  transcription: 'POST /v1/audio/transcriptions',
  speech: 'POST /v1/audio/speech',
  realtime: 'GET /v1/realtime (WebSocket)',
}

/** The models of a region and who serves them at the moment. */
export class ModelRoutes {
  readonly #region: Region
  #routes: ReadonlyMap<string, ModelRoute> = new Map()

  constructor(region: Region) {
    this.#region = region
  }

  /** From now on these hold; calls under way keep the deployment that they have. */
  replace(routes: readonly ModelRoute[]): void {
    this.#routes = new Map(
      routes
        .filter(({ model }) => model.regions.includes(this.#region))
        .map((route) => [route.model.name, route]),
    )
  }

  /** Whether a backend stands ready for the model. */
  serves(name: string): boolean {
    const route = this.#routes.get(name)
    return route !== undefined && route.deployments.length > 0
  }

  /** Those that can be called now, in the catalogue's order. */
  list(): Model[] {
    return this.listAll().filter(({ available }) => available)
  }

  /** In the catalogue's order, whether they can be called or not. */
  listAll(): Model[] {
    return [...this.#routes.values()].map(cardOf)
  }

  /** @throws AppError 404 */
  card(name: string): Model {
    const route = this.#routes.get(name)
    if (route === undefined) throw modelNotFound(name, 404)
    return cardOf(route)
  }

  /** @throws AppError 400 unknown or of another kind, 503 without a backend or without a price */
  find(
    name: string,
    kind: ModelKind,
  ): ModelRoute & { readonly deployments: readonly [Deployment, ...Deployment[]] } {
    const route = this.#routes.get(name)
    if (route === undefined) throw modelNotFound(name, 400)
    if (route.model.isCatalogued && route.model.kind !== kind)
      throw wrongEndpoint(name, route.model.kind, ENDPOINTS[route.model.kind])
    if (!isServed(route)) throw route.refusal()
    return route
  }
}

type Served = ModelRoute & { readonly deployments: readonly [Deployment, ...Deployment[]] }
const isServed = (route: ModelRoute): route is Served => route.deployments.length > 0

const cardOf = (route: ModelRoute): Model => ({
  ...route.model.card,
  available: isServed(route),
})

/** A backend together with the models that it is known to serve. */
export interface AvailableBackend {
  readonly backend: Backend
  /** The catalogue's deployments of this kind are meant for it. */
  readonly kind: 'openai' | 'sandbox'
  /** Its own list of models. Undefined when it gives none: then it has those that the catalogue deploys to it. */
  readonly served: ReadonlySet<string> | undefined
  /** Nobody bills for it: what has no price may be served. */
  readonly isFree: boolean
  /** Why it is likely to serve nothing now. */
  readonly fault?: string | undefined
}

/** Whether a backend has the operation of a model's kind; the other kinds have no endpoint yet. */
function canServe({ chatCompletions, embeddings }: Backend, { kind, isCatalogued }: CatalogueModel): boolean {
  if (kind === 'chat') return chatCompletions !== undefined || (!isCatalogued && embeddings !== undefined)
  return kind === 'embeddings' && embeddings !== undefined
}

/** The backend's name for a model that it serves; undefined when it does not. */
function nameAt({ backend, kind, served }: AvailableBackend, model: CatalogueModel): string | undefined {
  if (!canServe(backend, model)) return undefined
  if (kind === 'sandbox') return model.name
  if (served?.has(model.name)) return model.name
  const own = model.deployments.find((deployment) => deployment.backend === kind)?.model
  return own === undefined || served === undefined || served.has(own) ? own : undefined
}

const OPENAI_REMEDY = 'set OPENAI_API_KEY, or OPENAI_BASE_URL for another OpenAI-compatible server'

function remedyOf(model: CatalogueModel, backends: readonly AvailableBackend[]): string {
  const listing = backends.filter(({ served }) => served !== undefined).map(({ backend }) => backend.name)
  const unlisted = listing.length > 0 ? `${listing.join(', ')} does not list it; ` : ''
  const wanted = new Set(model.deployments.map(({ backend }) => backend))
  if (wanted.has('openai')) return unlisted + OPENAI_REMEDY
  return `${unlisted}its backend (${[...wanted].join(', ')}) is not part of this version; set OPENAI_BASE_URL to an OpenAI-compatible server that lists it`
}

/** Who serves the model, and otherwise why nobody does. */
function routeOf(model: CatalogueModel, backends: readonly AvailableBackend[]): ModelRoute {
  const serving: (Deployment & { readonly isFree: boolean })[] = []
  for (const available of backends) {
    const name = nameAt(available, model)
    if (name !== undefined)
      serving.push({ backend: available.backend, model: name, isFree: available.isFree })
  }
  const deployments = model.price === undefined ? serving.filter(({ isFree }) => isFree) : serving
  // Where a real server may not be asked, nothing is made up instead.
  const isUnpriced =
    deployments.length < serving.length && deployments.every(({ backend }) => backend.isSandbox)
  return {
    model,
    deployments: isUnpriced ? [] : deployments,
    refusal: () =>
      isUnpriced
        ? modelNotPriced(model.name, model.isCatalogued)
        : backendNotConfigured(model.name, remedyOf(model, backends)),
  }
}

/** Joins the catalogue with the backends at hand. */
export const routeModels = (
  catalogue: Catalogue,
  extra: readonly CatalogueModel[],
  backends: readonly AvailableBackend[],
): ModelRoute[] => [...catalogue.models.values(), ...extra].map((model) => routeOf(model, backends))
