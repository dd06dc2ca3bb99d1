import type { EnvValues } from '@atrium/kernel/config'
import type { gatewayEnv } from '../config.ts'
import { type Catalogue, type CatalogueModel, uncataloguedModel } from '../domain/catalogue.ts'
import type { AvailableBackend } from '../domain/model-routing.ts'
import { createOpenAiBackend, findLocalServers, type ListedModel, listModels } from './openai/index.ts'
import { createSandbox } from './sandbox/index.ts'

const OPENAI_URL = 'https://api.openai.com/v1'
const LIST_TIMEOUT_MS = 2000

export interface FoundBackends {
  readonly available: readonly AvailableBackend[]
  /** Models that the backends serve and the catalogue does not know. */
  readonly extra: readonly CatalogueModel[]
}

type Env = EnvValues<typeof gatewayEnv>
interface Server {
  readonly name: string
  readonly baseUrl: string
  readonly apiKey: string | undefined
  readonly models: readonly ListedModel[] | undefined
  readonly isVendor: boolean
  readonly servesUnlisted: boolean
}

/** The server that the environment names: OpenAI itself, or any other that speaks its language. */
async function configuredServers(env: Env): Promise<Server[]> {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: address } = env
  if (apiKey === undefined && address === undefined) return []
  const baseUrl = address ?? OPENAI_URL
  const isVendor = new URL(baseUrl).hostname === 'api.openai.com'
  const models = isVendor ? undefined : await listModels(baseUrl, apiKey, LIST_TIMEOUT_MS)
  return [{ name: 'openai', baseUrl, apiKey, models, isVendor, servesUnlisted: true }]
}

const localServers = async (ownPort: number): Promise<Server[]> =>
  (await findLocalServers(ownPort)).map((server) => ({
    ...server,
    apiKey: undefined,
    isVendor: false,
    servesUnlisted: false,
  }))

/**
 * Finds what can serve models: the configured server, else servers of this machine, else the sandbox
 * where that is allowed.
 */
export async function findBackends(
  env: Env,
  catalogue: Catalogue,
  where: { nodeEnv: string; ownPort: number },
): Promise<FoundBackends> {
  const configured = await configuredServers(env)
  const probes =
    configured.length === 0 && env.ATRIUM_PROBE_LOCAL_MODELS === true && env.ATRIUM_SANDBOX !== 'on'
  const servers = probes ? await localServers(where.ownPort) : configured
  const available = servers.map(
    (server): AvailableBackend => ({
      backend: createOpenAiBackend({
        name: server.name,
        baseUrl: server.baseUrl,
        apiKey: server.apiKey,
        connections: env.ATRIUM_GATEWAY_CONNECTIONS ?? 2048,
        headersTimeoutMs: env.ATRIUM_GATEWAY_HEADERS_TIMEOUT_MS ?? 300_000,
        idleTimeoutMs: env.ATRIUM_GATEWAY_IDLE_TIMEOUT_MS ?? 120_000,
        totalTimeoutMs: env.ATRIUM_GATEWAY_TOTAL_TIMEOUT_MS ?? 1_800_000,
      }),
      kind: 'openai',
      served: server.models === undefined ? undefined : new Set(server.models.map(({ id }) => id)),
      isVendor: server.isVendor,
      servesUnlisted: server.servesUnlisted,
    }),
  )
  const isSandboxWanted =
    env.ATRIUM_SANDBOX === 'on' ||
    (env.ATRIUM_SANDBOX === 'auto' && available.length === 0 && where.nodeEnv !== 'production')
  if (isSandboxWanted) {
    // Last in the list, so it serves only what nobody else does.
    available.push({
      backend: createSandbox(),
      kind: 'sandbox',
      served: undefined,
      servesUnlisted: true,
      isVendor: false,
    })
  }
  return { available, extra: modelsBeyond(catalogue, servers) }
}

function modelsBeyond(catalogue: Catalogue, servers: readonly Server[]): CatalogueModel[] {
  const known = new Set<string>()
  for (const model of catalogue.models.values()) {
    known.add(model.name)
    for (const { backend, model: name } of model.deployments) if (backend === 'openai') known.add(name)
  }
  const extra = new Map<string, CatalogueModel>()
  for (const { id, ownedBy, created } of servers.flatMap(({ models }) => models ?? [])) {
    if (!known.has(id) && !extra.has(id)) extra.set(id, uncataloguedModel(id, ownedBy, created))
  }
  return [...extra.values()]
}
