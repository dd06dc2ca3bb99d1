import { WebSocket } from 'ws'
import type { EgressRule } from '../../domain/egress-rule.ts'
import { checkedLookup, checkLiteral, type Resolve } from './checked-lookup.ts'
import { CONNECT_MS } from './loopback-server.ts'

const LARGEST_MESSAGE = 16 * 1024 * 1024

/** Opens a WebSocket to an allowed address. */
export type OpenSocket = (url: string, headers: Readonly<Record<string, string>>) => WebSocket

/**
 * @param options.ca PEM bundle of authorities instead of the system's
 * @returns which throws EgressRefused for a literal address that may not be reached
 */
export const egressSocket =
  (rule: EgressRule, { ca, resolve }: { ca?: string | undefined; resolve?: Resolve } = {}): OpenSocket =>
  (url, headers) => {
    checkLiteral(rule, new URL(url).hostname)
    return new WebSocket(url, {
      headers,
      lookup: checkedLookup(rule, resolve),
      handshakeTimeout: CONNECT_MS,
      maxPayload: LARGEST_MESSAGE,
      followRedirects: false,
      // Ray passes the offer on within itself, and then does not understand the answer (2.60).
      perMessageDeflate: false,
      ...(ca === undefined ? {} : { ca }),
    })
  }
