import { hash, timingSafeEqual } from 'node:crypto'
import { networkInterfaces } from 'node:os'
import { forbidden, invalidToken, OperatorError } from '@atrium/kernel/errors'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { isQxId, QX_ID_RULE } from './people.ts'
import type { Principal, UserPrincipal } from './principal.ts'

type Address = ReturnType<typeof ipaddr.process>

export interface IngressOptions {
  /** Addresses and networks of the ingress, e.g. `10.0.0.0/8`. */
  readonly addresses: readonly string[]
  /** Header with the id of the person (their qxId). */
  readonly userHeader: string
  /** Header with their name; where it is absent, the id stands for it. */
  readonly nameHeader: string
  /** Header with a signed token of an issuer that is trusted anyway; it then names the person, and `userHeader` nothing. */
  readonly tokenHeader: string | undefined
  /** What the ingress must send in `x-ingress-secret`; undefined: its address is enough. */
  readonly secret: string | undefined
  readonly verifyToken: (token: string) => Promise<Principal>
  /** The platform's own origin, whose pages may act for the person. */
  readonly publicUrl: string
}

/** The person whom the ingress names; undefined when the request does not come from it, or it names nobody. */
export type Ingress = (request: FastifyRequest) => Promise<Principal> | UserPrincipal | undefined

export const INGRESS_SECRET_HEADER = 'x-ingress-secret'

const NAME = /^[^\p{Cc}]{1,256}$/u

/** @throws OperatorError when an address is none */
export function createIngress(options: IngressOptions): Ingress {
  const networks = options.addresses.map(parseNetwork)
  const secret = options.secret === undefined ? undefined : digest(options.secret)

  return (request) => {
    // The connection's own address: X-Forwarded-For is what a caller says.
    if (!isFrom(networks, request.raw.socket.remoteAddress)) return undefined
    const named = headerOf(request, options.tokenHeader ?? options.userHeader)
    if (named === undefined) return undefined
    if (secret !== undefined) {
      const given = headerOf(request, INGRESS_SECRET_HEADER)
      if (given === undefined || !timingSafeEqual(digest(given), secret)) {
        throw invalidToken(`The ingress named a person without the right ${INGRESS_SECRET_HEADER}`)
      }
    }
    demandOwnPage(request, options.publicUrl)
    if (options.tokenHeader !== undefined) return personOf(options.verifyToken(named), options.tokenHeader)
    if (!isQxId(named)) {
      throw invalidToken(`${options.userHeader} must ${QX_ID_RULE}, and come once`)
    }
    const name = headerOf(request, options.nameHeader)
    return { kind: 'user', qxId: named, name: name !== undefined && NAME.test(name) ? name : named }
  }
}

/** An ingress names people; machines and keys speak for themselves. */
async function personOf(verified: Promise<Principal>, header: string): Promise<UserPrincipal> {
  const caller = await verified
  if (caller.kind === 'user') return caller
  throw invalidToken(`The token in ${header} is not a person's`)
}

const digest = (text: string): Buffer => hash('sha256', text, 'buffer')

/** The header's text, which Node.js reads as Latin-1; one that comes twice is joined by a comma and a space. */
function headerOf(request: FastifyRequest, name: string): string | undefined {
  const value = request.headers[name.toLowerCase()]
  if (typeof value !== 'string' || value === '') return undefined
  return Buffer.from(value, 'latin1').toString('utf8')
}

/**
 * A browser's cookie at the ingress speaks for the person on any page, so only pages of the platform itself may write.
 * @throws AppError 403
 */
function demandOwnPage({ method, headers }: FastifyRequest, publicUrl: string): void {
  if (method === 'GET' || method === 'HEAD') return
  const site = headers['sec-fetch-site']
  const isOther = site !== undefined && site !== 'same-origin' && site !== 'none'
  if (!isOther && (headers.origin === undefined || headers.origin === publicUrl)) return
  throw forbidden('The request was sent by a page of another site')
}

/** Addresses of this machine that lie in one of these. @throws OperatorError when one is no address or network */
export function ownAddressesIn(networks: readonly string[]): string[] {
  const parsed = networks.map(parseNetwork)
  const own = Object.values(networkInterfaces()).flatMap((known) =>
    (known ?? []).map(({ address }) => address),
  )
  // All of 127.0.0.0/8 is this machine, whatever its interfaces say.
  const loopback = networks.filter((_text, index) => parsed[index]?.[0].range() === 'loopback')
  return [...new Set([...loopback, ...own.filter((address) => isFrom(parsed, address))])]
}

function parseNetwork(text: string): [Address, number] {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text)
    const address = ipaddr.process(text)
    return [address, address.kind() === 'ipv4' ? 32 : 128]
  } catch {
    throw new OperatorError(
      `ATRIUM_INGRESS_ADDRESSES: ${text} is neither an address nor a network like 10.0.0.0/8`,
    )
  }
}

function isFrom(networks: readonly [Address, number][], remote: string | undefined): boolean {
  if (remote === undefined || !ipaddr.isValid(remote)) return false
  const address = ipaddr.process(remote)
  return networks.some(([network, bits]) => address.kind() === network.kind() && address.match(network, bits))
}
