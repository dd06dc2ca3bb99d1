import { UsageError } from '../usage-error.ts'
import { PlatformClient } from './platform-client.ts'

/** The option that every command has which talks to a running platform. */
export interface AddressOptions {
  readonly url?: string
}

/** Options of commands that an API key is enough for. */
export interface ConnectionOptions extends AddressOptions {
  readonly apiKey?: string
}

export interface ConnectionHooks {
  readonly signal: AbortSignal
  readonly onRetry?: (reason: string, waitMs: number) => void
}

/**
 * A client of the platform that the options, else the environment, name.
 * @throws UsageError without a key, or when the address is none
 */
export function connectTo(
  options: ConnectionOptions,
  env: NodeJS.ProcessEnv,
  hooks: ConnectionHooks,
): PlatformClient {
  const apiKey = options.apiKey ?? env.ATRIUM_API_KEY
  if (!apiKey)
    throw new UsageError('An API key of the space is needed: set ATRIUM_API_KEY, or give one with --api-key')
  return new PlatformClient({ url: addressOf(options, env), credential: () => apiKey, ...hooks })
}

/** Origin of the platform, without a slash at its end. @throws UsageError when the address is none */
export function addressOf(options: AddressOptions, env: NodeJS.ProcessEnv): string {
  const address =
    options.url ?? env.ATRIUM_URL ?? env.ATRIUM_PUBLIC_URL ?? `http://localhost:${env.ATRIUM_PORT || 8080}`
  if (!/^https?:\/\//.test(address) || !URL.canParse(address))
    throw new UsageError(`'${address}' is no address of a platform: it begins with http:// or https://`)
  return address.replace(/\/+$/, '')
}
