import { randomBytes, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { EgressRule } from '../../domain/egress-rule.ts'
import { checkedLookup, checkLiteral, EgressRefused, type Resolve } from './checked-lookup.ts'
import { CONNECT_MS, IDLE_MS, join, listenOnLoopback } from './loopback-server.ts'

/** The way out of one task's children that know HTTP proxies, such as git. */
export interface EgressProxy {
  /** With the credential that it asks for. */
  readonly url: string
  /** Why the last connection that was refused was not made. */
  readonly refusal: EgressRefused | undefined
  close(): Promise<void>
}

/** Of one connection only, and this proxy's own business. */
const HOP_BY_HOP = [
  'connection',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'upgrade',
]

/**
 * An HTTP proxy on loopback that connects to allowed addresses only: what follows redirects or is sent to a name that
 * resolves to something else meanwhile passes here again.
 */
export async function openEgressProxy(rule: EgressRule, resolve?: Resolve): Promise<EgressProxy> {
  const lookup = checkedLookup(rule, resolve)
  const password = randomBytes(24).toString('base64url')
  const credential = Buffer.from(`Basic ${Buffer.from(`task:${password}`).toString('base64')}`)
  let refusal: EgressRefused | undefined

  const isKnown = ({ headers }: IncomingMessage): boolean => {
    const given = Buffer.from(headers['proxy-authorization'] ?? '')
    return given.length === credential.length && timingSafeEqual(given, credential)
  }
  const statusOf = (error: Error): number => {
    if (!(error instanceof EgressRefused)) return 502
    refusal = error
    return 403
  }

  const server = createServer((incoming, response) => {
    if (!isKnown(incoming)) response.writeHead(407, { 'proxy-authenticate': 'Basic realm="egress"' }).end()
    else forward(rule, lookup, { incoming, response }, statusOf)
  })
  server.on('connect', (incoming: IncomingMessage, client: Socket, head: Buffer) => {
    const end = (status: number): void =>
      void client.end(
        `HTTP/1.1 ${status} no\r\n${status === 407 ? 'proxy-authenticate: Basic realm="egress"\r\n' : ''}content-length: 0\r\nconnection: close\r\n\r\n`,
      )
    const target = targetOf(incoming.url)
    if (!isKnown(incoming)) return end(407)
    if (target === undefined) return end(400)
    try {
      checkLiteral(rule, target.host)
    } catch (error) {
      return end(statusOf(error as Error))
    }
    const upstream = connect({ ...target, lookup, timeout: CONNECT_MS })
    const refuse = (error: Error): void => end(statusOf(error))
    upstream.once('timeout', () => upstream.destroy(new Error('timeout')))
    upstream.once('error', refuse)
    client.once('close', () => upstream.destroy())
    upstream.once('connect', () => {
      upstream.off('error', refuse).on('error', () => {})
      upstream.setTimeout(0)
      client.write('HTTP/1.1 200 connected\r\n\r\n')
      if (head.length > 0) upstream.write(head)
      join(client, upstream)
    })
  })
  const { port, close } = await listenOnLoopback(server)
  return {
    url: `http://task:${password}@127.0.0.1:${port}`,
    close,
    get refusal() {
      return refusal
    },
  }
}

function targetOf(authority = ''): { host: string; port: number } | undefined {
  const found = /^(\[[0-9a-f:.]+\]|[^:[\]]+):(\d{1,5})$/i.exec(authority)
  const port = Number(found?.[2])
  if (found?.[1] === undefined || port < 1 || port > 65_535) return undefined
  return { host: found[1].replace(/^\[(.*)\]$/, '$1'), port }
}

/** A request without TLS comes with its whole address. */
function forward(
  rule: EgressRule,
  lookup: ReturnType<typeof checkedLookup>,
  { incoming, response }: { incoming: IncomingMessage; response: ServerResponse },
  statusOf: (error: Error) => number,
): void {
  const fail = (error: Error): void => {
    if (response.headersSent) response.destroy()
    else response.writeHead(statusOf(error)).end()
  }
  try {
    const url = new URL(incoming.url ?? '')
    if (url.protocol !== 'http:') throw new Error('not http')
    checkLiteral(rule, url.hostname)
    const headers = Object.fromEntries(
      Object.entries(incoming.headers).filter(([name]) => !HOP_BY_HOP.includes(name)),
    )
    const options = { method: incoming.method, headers: { ...headers, host: url.host }, lookup, agent: false }
    const upstream = request(url, { ...options, timeout: IDLE_MS }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.on('error', fail).pipe(response)
    })
    upstream.once('timeout', () => upstream.destroy(new Error('timeout')))
    upstream.on('error', fail)
    response.once('close', () => upstream.destroy())
    incoming.pipe(upstream)
  } catch (error) {
    fail(error as Error)
  }
}
