import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What happens to one request on its way. */
export type Fault =
  /** Answered here; the platform never sees it. */
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  /** The connection breaks before, or after, the platform did the work. */
  | 'break-before'
  | 'break-after'
  /** The platform did the work, but says it failed. */
  | 'fail-after'

export interface Passing {
  readonly method: string
  readonly path: string
  readonly body: Buffer
}

export interface FaultyProxy extends AsyncDisposable {
  readonly url: string
  /** All requests that came, in their order. */
  readonly requests: Passing[]
  /** Asked about every request; undefined lets it pass. */
  intercept: (request: Passing) => Fault | undefined | Promise<Fault | undefined>
  /** Where requests go; undefined: nobody listens, connections are refused. */
  target: string | undefined
}

/** A network that fails as the test says, between a client and a platform. */
export async function startFaultyProxy(target: string): Promise<FaultyProxy> {
  const server = createServer((message, response) => void handle(message, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const proxy: FaultyProxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: [],
    intercept: () => undefined,
    target,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }

  async function handle(message: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = []
    for await (const part of message) parts.push(part as Buffer)
    const passing = { method: message.method ?? '', path: message.url ?? '', body: Buffer.concat(parts) }
    proxy.requests.push(passing)
    const fault = await proxy.intercept(passing)
    if (proxy.target === undefined || fault === 'break-before') {
      response.destroy()
      return
    }
    if (typeof fault === 'object') {
      response.writeHead(fault.status, { 'content-type': 'application/json', ...fault.headers })
      response.end(fault.body ?? '{}')
      return
    }
    const onward = request(`${proxy.target}${passing.path}`, {
      method: passing.method,
      headers: message.headers,
    })
    onward.on('error', () => response.destroy())
    onward.on('response', async (answer) => {
      const body: Buffer[] = []
      for await (const part of answer) body.push(part as Buffer)
      if (fault === 'break-after') response.destroy()
      else if (fault === 'fail-after') response.writeHead(502).end('<html>')
      else response.writeHead(answer.statusCode ?? 500, answer.headers).end(Buffer.concat(body))
    })
    onward.end(passing.body)
  }
  return proxy
}
