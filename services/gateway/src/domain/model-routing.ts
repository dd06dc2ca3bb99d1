import type { Model, ModelKind } from '../contract/index.ts'
import { backendNotConfigured, modelNotFound, wrongEndpoint } from '../errors.ts'
import type { Backend } from './backend.ts'
import type { Catalogue, CatalogueModel, Region } from './catalogue.ts'

/** One way to serve a model. */
export interface Deployment {
  readonly backend: Backend
  /** The backend's own name for the model. */
  readonly model: string
  /** False: the backend's list lacks the model, and it is tried there all the same. */
  readonly isListed: boolean
}

/** A model of one region with the deployments that can serve it now, the first choice first. */
export interface ModelRoute {
  readonly model: CatalogueModel
  readonly deployments: readonly Deployment[]
  /** What an operator must do when there is none. */
  readonly remedy: string
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

  /** In the catalogue's order. */
  list(): Model[] {
    return [...this.#routes.values()].map(cardOf)
  }

  /** @throws AppError 404 */
  card(name: string): Model {
    const route = this.#routes.get(name)
    if (route === undefined) throw modelNotFound(name, 404)
    return cardOf(route)
  }

  /** @throws AppError 400 unknown or of another kind, 503 without a backend */
  find(
    name: string,
    kind: ModelKind,
  ): ModelRoute & { readonly deployments: readonly [Deployment, ...Deployment[]] } {
    const route = this.#routes.get(name)
    if (route === undefined) throw modelNotFound(name, 400)
    if (route.model.isCatalogued && route.model.kind !== kind)
      throw wrongEndpoint(name, route.model.kind, ENDPOINTS[route.model.kind])
    if (!isServed(route)) throw backendNotConfigured(name, route.remedy)
    return route
  }
}

type Served = ModelRoute & { readonly deployments: readonly [Deployment, ...Deployment[]] }
const isServed = (route: ModelRoute): route is Served => route.deployments.length > 0

const cardOf = (route: ModelRoute): Model => ({
  ...route.model.card,
  available: route.deployments.some(({ isListed }) => isListed),
})

/** A backend together with the models that it is known to serve. */
export interface AvailableBackend {
  readonly backend: Backend
  /** The catalogue's deployments of this kind are meant for it. */
  readonly kind: 'openai' | 'sandbox'
  /** Its own list of models; undefined when it gives none, or is the vendor's own and serves all. */
  readonly served: ReadonlySet<string> | undefined
  /** The operator named this server, so a model that its list lacks is tried there all the same. */
  readonly servesUnlisted: boolean
  /** It speaks for one vendor only, whose models the catalogue deploys to it by name. */
  readonly isVendor: boolean
}

/** What the sandbox can make up. */
const SANDBOX_KINDS: ReadonlySet<ModelKind> = new Set(['chat', 'embeddings'])

/** How a backend serves a model, or undefined when it does not. */
function deploymentAt(available: AvailableBackend, model: CatalogueModel): Deployment | undefined {
  const { backend, kind, isVendor, served, servesUnlisted } = available
  const at = (name: string | undefined, isListed = true): Deployment | undefined =>
    name === undefined ? undefined : { backend, model: name, isListed }
  const own = model.deployments.find((deployment) => deployment.backend === kind)?.model
  if (kind === 'sandbox') return SANDBOX_KINDS.has(model.kind) ? at(model.name) : undefined
  if (isVendor) return at(own)
  if (served === undefined) return at(own ?? model.name)
  if (served.has(model.name)) return at(model.name)
  if (own !== undefined && served.has(own)) return at(own)
  return servesUnlisted ? at(own ?? model.name, false) : undefined
}

const OPENAI_REMEDY = 'set OPENAI_API_KEY, or OPENAI_BASE_URL for another OpenAI-compatible server'

function remedyOf(model: CatalogueModel): string {
  const wanted = new Set(model.deployments.map(({ backend }) => backend))
  if (wanted.has('openai')) return OPENAI_REMEDY
  return `its backend (${[...wanted].join(', ')}) is not part of this version; set OPENAI_BASE_URL to an OpenAI-compatible server that serves it`
}

/** Joins the catalogue with the backends at hand. */
export function routeModels(
  catalogue: Catalogue,
  extra: readonly CatalogueModel[],
  backends: readonly AvailableBackend[],
): ModelRoute[] {
  return [...catalogue.models.values(), ...extra].map((model) => ({
    model,
    remedy: remedyOf(model),
    deployments: backends.flatMap((available) => deploymentAt(available, model) ?? []),
  }))
}
