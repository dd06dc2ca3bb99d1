import type { PlatformAnswer, PlatformClient } from '../client/platform-client.ts'
import { Refused } from '../client/platform-client.ts'
import { UsageError } from '../usage-error.ts'

/** The workflows of one space, as the platform shows them. */
export class SpaceClient {
  readonly platform: PlatformClient
  readonly #prefix: string

  constructor(platform: PlatformClient, spaceId: string) {
    this.platform = platform
    this.#prefix = `/workflows/v1/spaces/${encodeURIComponent(spaceId)}`
  }

  /** Below the space; each part is encoded. */
  path(...parts: readonly string[]): string {
    return [this.#prefix, ...parts.map(encodeURIComponent)].join('/')
  }

  /** Below a workflow. */
  workflowPath(workflowId: string, ...parts: readonly string[]): string {
    return this.path('workflows', workflowId, ...parts)
  }

  /** Undefined where there is none. @throws as PlatformClient.get */
  async find<T>(path: string): Promise<T | undefined> {
    try {
      return (await this.platform.get(path)).body as T
    } catch (error) {
      if (error instanceof Refused && error.status === 404) return undefined
      throw error
    }
  }

  async get<T>(path: string): Promise<T> {
    return (await this.platform.get(path)).body as T
  }

  put(path: string, body: unknown): Promise<PlatformAnswer> {
    return this.platform.put(path, JSON.stringify(body))
  }

  /** For what may be sent twice without harm; with a `key` that is everything that takes one. */
  async post<T>(path: string, body: unknown, key?: string): Promise<T> {
    const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key }
    const text = body === undefined ? undefined : JSON.stringify(body)
    const answer = await this.platform.retrying(() => this.platform.send('POST', path, text, headers))
    return answer.body as T
  }
}

/** The space that an option, else the environment names. @throws UsageError where none does */
export function spaceOf(options: { readonly space?: string }, env: NodeJS.ProcessEnv): string {
  const space = options.space ?? env.ATRIUM_SPACE
  if (!space) throw new UsageError('A space is needed: set ATRIUM_SPACE, or give one with --space')
  return space
}
