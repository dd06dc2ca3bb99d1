import { setTimeout as delay } from 'node:timers/promises'
import { OperatorError } from '@atrium/kernel/errors'

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 30_000
/** With the waits above these take about five minutes: longer than any restart. */
const MOST_TRIES = 15
/** Being told to wait is no failure, but without end it is. */
const MOST_REFUSALS = 200
const LONGEST_TOLD_WAIT_MS = 120_000
/** Statuses that pass: 408, 429 and all of the server's own. */
const isPassing = (status: number): boolean => status === 408 || status === 429 || status >= 500

export interface ClientOptions {
  /** Origin of the platform. */
  readonly url: string
  /** The bearer credential, asked for with each request: an API key, or a token that is renewed in time. */
  readonly credential: () => string | Promise<string>
  /** Ends waits and requests at once; its reason, an OperatorError, is what callers get then. */
  readonly signal: AbortSignal
  /** Told about each failure that is tried again. */
  readonly onRetry?: (reason: string, waitMs: number) => void
  readonly timeoutMs?: number
}

export interface PlatformAnswer {
  readonly headers: Headers
  // Each caller names the part of the contract that it reads.
  readonly body: unknown
}

/** An answer that is final: the request was refused. */
export class Refused extends OperatorError {
  readonly status: number
  /** The service's own words. */
  readonly reason: string

  constructor(status: number, message: string, reason = message) {
    super(message)
    this.status = status
    this.reason = reason
  }
}

/** A failure that may pass. */
export class Passing extends Error {
  /** Whether the server may have done the work all the same. */
  readonly mayHaveHappened: boolean
  readonly retryAfterMs: number | undefined
  readonly isRefusal: boolean

  constructor(
    message: string,
    about: { mayHaveHappened: boolean; retryAfterMs?: number | undefined; isRefusal?: boolean },
  ) {
    super(message)
    this.mayHaveHappened = about.mayHaveHappened
    this.retryAfterMs = about.retryAfterMs
    this.isRefusal = about.isRefusal ?? false
  }
}

/** Calls a platform with one credential; survives limits, restarts and broken connections by trying again. */
export class PlatformClient {
  readonly #options: ClientOptions
  /** A refusal for one request holds for all: they share the credential's limit. */
  #pausedUntil = 0

  constructor(options: ClientOptions) {
    this.#options = options
  }

  get url(): string {
    return this.#options.url
  }

  /** @throws Refused, or OperatorError when the platform stays away */
  get(path: string): Promise<PlatformAnswer> {
    return this.retrying(() => this.send('GET', path))
  }

  /** For requests that may be sent twice without harm. @throws as `get` */
  post(path: string, body: string): Promise<PlatformAnswer> {
    return this.retrying(() => this.send('POST', path, body))
  }

  /** @throws as `get` */
  put(path: string, body: string): Promise<PlatformAnswer> {
    return this.retrying(() => this.send('PUT', path, body))
  }

  /** @throws as `get` */
  delete(path: string, body: string): Promise<PlatformAnswer> {
    return this.retrying(() => this.send('DELETE', path, body))
  }

  /**
   * Runs `attempt` until it works, is refused, or failed too often.
   * @param attempt is told whether an earlier one may have done its work without our knowing
   */
  async retrying<T>(attempt: (mayHaveHappened: boolean) => Promise<T>): Promise<T> {
    let mayHaveHappened = false
    let tries = 0
    let refusals = 0
    for (;;) {
      await this.#pause()
      try {
        return await attempt(mayHaveHappened)
      } catch (error) {
        if (!(error instanceof Passing)) throw error
        mayHaveHappened ||= error.mayHaveHappened
        if (error.isRefusal) refusals += 1
        else tries += 1
        if (tries >= MOST_TRIES || refusals >= MOST_REFUSALS)
          throw new OperatorError(`${error.message}, ${tries + refusals} times`, { cause: error })
        await this.#wait(error, tries)
      }
    }
  }

  async #wait(error: Passing, tries: number): Promise<void> {
    const { onRetry } = this.#options
    const grown = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.max(0, tries - 1))
    const told = error.retryAfterMs === undefined ? 0 : Math.min(error.retryAfterMs, LONGEST_TOLD_WAIT_MS)
    // Spread, so that many requests that failed together do not come back together.
    const waitMs = Math.max(told, grown / 2) + (Math.random() * grown) / 2
    if (error.isRefusal) this.#pausedUntil = Math.max(this.#pausedUntil, performance.now() + told)
    onRetry?.(error.message, waitMs)
    await this.#sleep(waitMs)
  }

  async #sleep(ms: number): Promise<void> {
    const { signal } = this.#options
    await delay(ms, undefined, { signal }).catch(() => signal.throwIfAborted())
  }

  async #pause(): Promise<void> {
    this.#options.signal.throwIfAborted()
    const waitMs = this.#pausedUntil - performance.now()
    if (waitMs > 0) await this.#sleep(waitMs)
  }

  /**
   * One request, not tried again.
   * @throws Refused for answers of 400 and above that will not change
   */
  async send(
    method: string,
    path: string,
    body?: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<PlatformAnswer> {
    const timeout = AbortSignal.timeout(this.#options.timeoutMs ?? 300_000)
    const response = await this.#fetch(method, path, { body, headers, timeout })
    const text = await response.text().catch((error: unknown) => this.#broken(error))
    return { headers: response.headers, body: parsed(text) }
  }

  /**
   * The body of an answer as it comes, however long it takes. Not tried again; when it breaks off, reading throws.
   * @throws as `send`
   */
  async stream(
    path: string,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<ReadableStream<Uint8Array> | null> {
    const response = await this.#fetch('GET', path, { headers })
    return response.body as ReadableStream<Uint8Array> | null
  }

  async #fetch(
    method: string,
    path: string,
    more: { body?: string | undefined; headers: Readonly<Record<string, string>>; timeout?: AbortSignal },
  ): Promise<Response> {
    const { url, credential, signal } = this.#options
    const { body, headers, timeout } = more
    const authorization = `Bearer ${await credential()}`
    const response = await fetch(`${url}${path}`, {
      method,
      redirect: 'error',
      signal: timeout === undefined ? signal : AbortSignal.any([signal, timeout]),
      headers: {
        ...headers,
        authorization,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    }).catch((error: unknown) => this.#broken(error))
    if (response.status < 300) return response
    const text = await response.text().catch((error: unknown) => this.#broken(error))
    throw failureOf(`${method} ${path.split('?')[0]}`, response, text)
  }

  #broken(error: unknown): never {
    const { url, signal } = this.#options
    signal.throwIfAborted()
    throw new Passing(`${url} could not be reached (${reasonOf(error)})`, {
      mayHaveHappened: !neverSent(error),
    })
  }
}

function failureOf(request: string, { status, headers }: Response, text: string): Refused | Passing {
  const message = messageOf(text)
  const told = `${request} answered ${status}: ${message}`
  if (!isPassing(status) || headers.get('x-should-retry') === 'false')
    return new Refused(status, told, message)
  return new Passing(told, {
    mayHaveHappened: status !== 429,
    retryAfterMs: retryAfterMs(headers),
    isRefusal: status === 429,
  })
}

function parsed(text: string): unknown {
  if (text === '') return undefined
  try {
    return JSON.parse(text)
  } catch {
    throw new OperatorError('The answer is not JSON: is this the address of an Atrium platform?')
  }
}

/** The service's own words, whichever of the platform's error shapes they come in. */
function messageOf(text: string): string {
  try {
    const body = JSON.parse(text) as { message?: unknown; detail?: unknown; error?: { message?: unknown } }
    const message = body.error?.message ?? body.message ?? body.detail
    if (typeof message === 'string') return message
    if (Array.isArray(message))
      return message.map((one: { msg?: unknown }) => String(one.msg ?? JSON.stringify(one))).join('; ')
  } catch {
    // A proxy's page, perhaps.
  }
  return text.slice(0, 200) || 'nothing'
}

const codeOf = (error: unknown): string | undefined =>
  (error as { cause?: { code?: string } }).cause?.code ?? (error as { name?: string }).name

const reasonOf = (error: unknown): string => codeOf(error) ?? String(error)

/** Nobody listened, so nothing was done. */
const neverSent = (error: unknown): boolean =>
  ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT'].includes(codeOf(error) ?? '')

function retryAfterMs(headers: Headers): number | undefined {
  const after = headers.get('retry-after')
  if (after === null) return undefined
  const ms = /^\d+$/.test(after) ? Number(after) * 1000 : Date.parse(after) - Date.now()
  return Number.isFinite(ms) ? Math.max(0, ms) : undefined
}
