import { connect, createServer } from 'node:net'
import type { EgressRule } from '../../domain/egress-rule.ts'
import { checkedLookup, checkLiteral, EgressRefused, type Resolve } from './checked-lookup.ts'
import { CONNECT_MS, join, type LoopbackServer, listenOnLoopback } from './loopback-server.ts'

export interface Forwarder extends LoopbackServer {
  /** Why a connection was not made. */
  readonly refusal: EgressRefused | undefined
}

/** A port of loopback that leads to one server and nowhere else: for programs that know no proxies, such as ssh. */
export async function openForwarder(
  rule: EgressRule,
  target: { readonly host: string; readonly port: number },
  resolve?: Resolve,
): Promise<Forwarder> {
  let refusal: EgressRefused | undefined
  const refuse = (error: unknown): void => {
    if (error instanceof EgressRefused) refusal = error
  }
  const server = createServer((client) => {
    try {
      checkLiteral(rule, target.host)
    } catch (error) {
      refuse(error)
      client.destroy()
      return
    }
    const upstream = connect({ ...target, lookup: checkedLookup(rule, resolve), timeout: CONNECT_MS })
    upstream.once('timeout', () => upstream.destroy())
    upstream.once('connect', () => upstream.setTimeout(0))
    upstream.on('error', refuse)
    join(client, upstream)
  })
  const { port, close } = await listenOnLoopback(server)
  return {
    port,
    close,
    get refusal() {
      return refusal
    },
  }
}
