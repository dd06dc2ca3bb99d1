import { OperatorError } from '@atrium/kernel/errors'
import { UsageError } from '../usage-error.ts'
import { type AddressOptions, addressOf, type ConnectionHooks } from './connection.ts'
import { Passing, PlatformClient } from './platform-client.ts'

const TOKEN_PATH = '/auth/oauth2/realms/root/realms/machine2machine/access_token'
const TOKEN_TIMEOUT_MS = 30_000
/** A token is renewed so long before its end. */
const EARLY_MS = 30_000

/** Options of commands that take a token of a person or a machine. */
export interface TokenOptions extends AddressOptions {
  readonly token?: string
}

/**
 * A client of the platform with the token that the option or ATRIUM_TOKEN holds, else with tokens of the machine client
 * ATRIUM_CLIENT_ID, which are renewed in time.
 * @throws UsageError without credentials, or when the address is none
 */
export function connectWithToken(
  options: TokenOptions,
  env: NodeJS.ProcessEnv,
  hooks: ConnectionHooks,
): PlatformClient {
  const url = addressOf(options, env)
  const token = options.token ?? env.ATRIUM_TOKEN
  if (token) return new PlatformClient({ url, credential: () => token, ...hooks })
  const { ATRIUM_CLIENT_ID: id, ATRIUM_CLIENT_SECRET: secret } = env
  if (!id || !secret)
    throw new UsageError(
      'A token is needed: set ATRIUM_TOKEN, or ATRIUM_CLIENT_ID and ATRIUM_CLIENT_SECRET of a machine client',
    )
  const tokens = new MachineTokens({
    url: env.ATRIUM_TOKEN_URL || `${url}${TOKEN_PATH}`,
    id,
    secret,
    signal: hooks.signal,
  })
  return new PlatformClient({ url, credential: () => tokens.current(), ...hooks })
}

interface MachineClient {
  readonly url: string
  readonly id: string
  readonly secret: string
  readonly signal: AbortSignal
}

/** Tokens by client credentials, one at a time, however many requests ask. */
class MachineTokens {
  readonly #client: MachineClient
  #token: Promise<{ text: string; renewAt: number }> | undefined

  constructor(client: MachineClient) {
    this.#client = client
  }

  async current(): Promise<string> {
    this.#token ??= this.#fetch()
    const asked = this.#token
    try {
      const { text, renewAt } = await asked
      if (performance.now() < renewAt) return text
    } catch (error) {
      if (this.#token === asked) this.#token = undefined
      throw error
    }
    if (this.#token === asked) this.#token = undefined
    return this.current()
  }

  async #fetch(): Promise<{ text: string; renewAt: number }> {
    const { url, id, secret, signal } = this.#client
    const unreachable = (error: unknown): never => {
      signal.throwIfAborted()
      throw new Passing(`No token could be had from ${url} (${String(error)})`, { mayHaveHappened: false })
    }
    const response = await fetch(url, {
      method: 'POST',
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TOKEN_TIMEOUT_MS)]),
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        scope: 'machine2machine',
        client_id: id,
        client_secret: secret,
      }),
    }).catch(unreachable)
    const text = await response.text().catch(unreachable)
    if (response.status >= 500 || response.status === 429)
      throw new Passing(`${url} answered ${response.status}`, { mayHaveHappened: false })
    const { access_token: token, expires_in: seconds } = answerOf(text)
    if (!response.ok || typeof token !== 'string')
      throw new OperatorError(
        `${url} gave no token for ATRIUM_CLIENT_ID: it answered ${response.status}: ${text.slice(0, 200)}`,
      )
    const lifetimeMs = (typeof seconds === 'number' ? seconds : 60) * 1000
    // At least half of its life, so that a short one is not asked for anew without end.
    return { text: token, renewAt: performance.now() + Math.max(lifetimeMs / 2, lifetimeMs - EARLY_MS) }
  }
}

function answerOf(text: string): { access_token?: unknown; expires_in?: unknown } {
  try {
    return JSON.parse(text) as { access_token?: unknown }
  } catch {
    return {}
  }
}
