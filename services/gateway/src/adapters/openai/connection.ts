import { type Dispatcher, Pool } from 'undici'

/** Where an OpenAI-compatible server is and how it is spoken to. */
export interface OpenAiOptions {
  /** Shown to callers as `x-atrium-backend`. */
  readonly name: string
  /** With its `/v1`. */
  readonly baseUrl: string
  readonly apiKey: string | undefined
  readonly connections: number
  readonly headersTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly totalTimeoutMs: number
}

/** One server: its connections, and what every request to it carries. */
export interface OpenAiConnection {
  readonly name: string
  readonly apiKey: string | undefined
  readonly totalTimeoutMs: number
  post(path: string, body: Buffer, handler: Dispatcher.DispatchHandler): void
  /** The same on a new connection, which serves nothing else: of those that are kept several may be dead. */
  postApart(path: string, body: Buffer, handler: Dispatcher.DispatchHandler): void
  close(): Promise<void>
}

export function connect(options: OpenAiOptions): OpenAiConnection {
  const base = new URL(options.baseUrl)
  const prefix = base.pathname.replace(/\/+$/, '')
  const poolOptions = {
    connections: options.connections,
    pipelining: 1,
    headersTimeout: options.headersTimeoutMs,
    bodyTimeout: options.idleTimeoutMs,
    connectTimeout: 10_000,
    allowH2: false,
  }
  const pool = new Pool(base.origin, poolOptions)
  const apart = new Pool(base.origin, poolOptions)
  // Answers come unpacked, so that they can be passed on as they are and still be read.
  const headers = ['content-type', 'application/json', 'accept-encoding', 'identity', 'user-agent', 'atrium']
  if (options.apiKey !== undefined) headers.push('authorization', `Bearer ${options.apiKey}`)
  return {
    name: options.name,
    apiKey: options.apiKey,
    totalTimeoutMs: options.totalTimeoutMs,
    post: (path, body, handler) =>
      void pool.dispatch({ method: 'POST', path: prefix + path, headers, body }, handler),
    postApart: (path, body, handler) =>
      void apart.dispatch({ method: 'POST', path: prefix + path, headers, body, reset: true }, handler),
    close: async () => void (await Promise.all([pool.destroy(), apart.destroy()])),
  }
}
