import type { EnvValues } from '@atrium/kernel/config'
import type { gatewayEnv } from '../config.ts'
import type { Backend } from '../domain/backend.ts'
import { type Catalogue, type CatalogueModel, uncataloguedModel } from '../domain/catalogue.ts'
import type { FoundBackends } from '../domain/model-directory.ts'
import type { AvailableBackend } from '../domain/model-routing.ts'
import { type ModelServer, modelServers } from './model-servers.ts'
import { createOpenAiBackend } from './openai/index.ts'
import { createSandbox } from './sandbox/index.ts'

type Env = EnvValues<typeof gatewayEnv>

export interface BackendFinder {
  /** False: another look finds the same. */
  readonly canChange: boolean
  find(): Promise<FoundBackends>
  close(): Promise<void>
}

/**
 * Finds what can serve models: the configured server, else servers of this machine, else the sandbox
 * where that is allowed.
 * @throws OperatorError
 */
export function createBackendFinder(
  env: Env,
  catalogue: Catalogue,
  where: { nodeEnv: string; ownPort: number },
): BackendFinder {
  const servers = modelServers(env, where.ownPort)
  // Kept when a server goes away: calls may be under way, and it may come back.
  const backends = new Map<string, Backend>()
  const made = (id: string, make: () => Backend): Backend => {
    const backend = backends.get(id) ?? make()
    backends.set(id, backend)
    return backend
  }
  return {
    canChange: servers.canChange,
    async find() {
      const found = await servers.list()
      const available = found.map((server) =>
        availableAt(
          server,
          made(server.baseUrl, () => openAiAt(server, env)),
        ),
      )
      const isSandboxWanted =
        env.ATRIUM_SANDBOX === 'on' ||
        (env.ATRIUM_SANDBOX === 'auto' && available.length === 0 && where.nodeEnv !== 'production')
      // Last in the list, so it serves only what nobody else does.
      if (isSandboxWanted) available.push(sandboxAs(made('sandbox', createSandbox)))
      return { available, extra: modelsBeyond(catalogue, found) }
    },
    close: async () => void (await Promise.all([...backends.values()].map((backend) => backend.close()))),
  }
}

const openAiAt = ({ name, baseUrl, apiKey }: ModelServer, env: Env): Backend =>
  createOpenAiBackend({
    name,
    baseUrl,
    apiKey,
    connections: env.ATRIUM_GATEWAY_CONNECTIONS,
    headersTimeoutMs: env.ATRIUM_GATEWAY_HEADERS_TIMEOUT_MS,
    idleTimeoutMs: env.ATRIUM_GATEWAY_IDLE_TIMEOUT_MS,
    totalTimeoutMs: env.ATRIUM_GATEWAY_TOTAL_TIMEOUT_MS,
  })

const availableAt = (server: ModelServer, backend: Backend): AvailableBackend => ({
  backend,
  kind: 'openai',
  served: server.models === undefined ? undefined : new Set(server.models.map(({ id }) => id)),
  isFree: server.isFree,
  fault: server.fault,
})

const sandboxAs = (backend: Backend): AvailableBackend => ({
  backend,
  kind: 'sandbox',
  served: undefined,
  isFree: true,
})

/** Models that the servers list and the catalogue does not know. */
function modelsBeyond(catalogue: Catalogue, servers: readonly ModelServer[]): CatalogueModel[] {
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
