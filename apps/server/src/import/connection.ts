import { UsageError } from '../usage-error.ts'
import { PlatformClient } from './platform-client.ts'

/** Options that every command has which talks to a running platform. */
export interface ConnectionOptions {
  readonly url?: string
  readonly apiKey?: string
}

/**
 * A client of the platform that the options, else the environment, name.
 * @throws UsageError without a key, or when the address is none
 */
export function connectTo(
  options: ConnectionOptions,
  env: NodeJS.ProcessEnv,
  more: { signal: AbortSignal; onRetry?: (reason: string, waitMs: number) => void },
): PlatformClient {
  const apiKey = options.apiKey ?? env.ATRIUM_API_KEY
  if (!apiKey)
    throw new UsageError('An API key of the space is needed: set ATRIUM_API_KEY, or give one with --api-key')
  const address =
    options.url ?? env.ATRIUM_URL ?? env.ATRIUM_PUBLIC_URL ?? `http://localhost:${env.ATRIUM_PORT || 8080}`
  if (!/^https?:\/\//.test(address) || !URL.canParse(address))
    throw new UsageError(`'${address}' is no address of a platform: it begins with http:// or https://`)
  return new PlatformClient({ url: address.replace(/\/+$/, ''), apiKey, ...more })
}
