import { Agent, buildConnector, fetch, type RequestInit, type Response } from 'undici'
import type { EgressRule } from '../../domain/egress-rule.ts'
import { checkedLookup, checkLiteral, type Resolve } from './checked-lookup.ts'

const CONNECT_MS = 15_000
const SILENT_MS = 60_000
const CONNECTIONS_A_SERVER = 16

/**
 * For this process's own requests for tenants: every connection, also one that a redirect asks for, goes to an address
 * that may be reached.
 * @param options.ca PEM bundle of authorities instead of the system's
 */
export function egressAgent(
  rule: EgressRule,
  { ca, resolve }: { ca?: string | undefined; resolve?: Resolve } = {},
): Agent {
  const connect = buildConnector({
    lookup: checkedLookup(rule, resolve),
    timeout: CONNECT_MS,
    ...(ca === undefined ? {} : { ca }),
  })
  return new Agent({
    connections: CONNECTIONS_A_SERVER,
    headersTimeout: SILENT_MS,
    bodyTimeout: SILENT_MS,
    connect(options, callback) {
      try {
        checkLiteral(rule, options.hostname)
      } catch (error) {
        callback(error as Error, null)
        return
      }
      connect(options, callback)
    },
  })
}

/** `fetch` that goes through such an agent. */
export type EgressFetch = (url: string | URL, init?: RequestInit) => Promise<Response>

export const egressFetch =
  (agent: Agent): EgressFetch =>
  (url, init) =>
    fetch(url, { ...init, dispatcher: agent })
