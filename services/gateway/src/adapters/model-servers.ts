import type { EnvValues } from '@atrium/kernel/config'
import { OperatorError } from '@atrium/kernel/errors'
import type { gatewayEnv } from '../config.ts'
import { createLocalSearch, type ListedModel, listModels } from './openai/index.ts'

const OPENAI_URL = 'https://api.openai.com/v1'
const LIST_TIMEOUT_MS = 2000

/** A server that speaks OpenAI's language. */
export interface ModelServer {
  readonly name: string
  readonly baseUrl: string
  readonly apiKey: string | undefined
  /** Undefined: it never gave a list. */
  readonly models: readonly ListedModel[] | undefined
  /** Found by looking for it on this machine: nobody bills for it, so models need no price. */
  readonly isFree: boolean
  /** Why it is likely to serve nothing now. */
  readonly fault?: string | undefined
}

export interface ModelServers {
  /** False: another look finds the same. */
  readonly canChange: boolean
  list(): Promise<readonly ModelServer[]>
}

type Env = EnvValues<typeof gatewayEnv>

/**
 * The server that the environment names, else servers of this machine where these may be looked for.
 * @throws OperatorError when a port of these is none
 */
export function modelServers(env: Env, ownPort: number): ModelServers {
  const { OPENAI_API_KEY: apiKey, OPENAI_BASE_URL: address } = env
  if (apiKey !== undefined || address !== undefined) return configuredServer(address ?? OPENAI_URL, apiKey)
  if (!env.ATRIUM_PROBE_LOCAL_MODELS || env.ATRIUM_SANDBOX === 'on') {
    return { canChange: false, list: async () => [] }
  }
  const search = createLocalSearch(portsOf(env.ATRIUM_LOCAL_MODEL_PORTS), ownPort)
  return {
    canChange: true,
    list: async () =>
      (await search()).map((server) => ({
        ...server,
        apiKey: undefined,
        isFree: true,
      })),
  }
}

const FAULTS: ReadonlyMap<unknown, string> = new Map([
  ['no-server', 'nobody listens at OPENAI_BASE_URL'],
  ['no-answer', 'no answer from OPENAI_BASE_URL in time'],
])

/** OpenAI itself, or any other server; one that does not answer keeps the list that it gave last. */
function configuredServer(baseUrl: string, apiKey: string | undefined): ModelServers {
  const isVendor = new URL(baseUrl).hostname === 'api.openai.com'
  let models: readonly ListedModel[] | undefined
  let fault: string | undefined
  return {
    canChange: !isVendor,
    async list() {
      if (!isVendor) {
        const listed = await listModels(baseUrl, apiKey, LIST_TIMEOUT_MS)
        if (typeof listed !== 'string') models = listed
        fault = FAULTS.get(listed)
      }
      return [{ name: 'openai', baseUrl, apiKey, models, isFree: false, fault }]
    },
  }
}

function portsOf(texts: readonly string[]): number[] {
  const wrong = texts.find((text) => !/^\d{1,5}$/.test(text) || Number(text) < 1 || Number(text) > 65_535)
  if (wrong !== undefined)
    throw new OperatorError(`ATRIUM_LOCAL_MODEL_PORTS: '${wrong}' is not a port from 1 to 65535`)
  return texts.map(Number)
}
