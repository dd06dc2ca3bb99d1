import { isIP } from 'node:net'
import { OperatorError } from '@atrium/kernel/errors'
import ipaddr from 'ipaddr.js'

/** Where requests that the platform makes for tenants may go: public addresses, and what the operator names. */
export interface EgressRule {
  /** Whether this name may be reached whatever it resolves to. */
  allowsHost(name: string): boolean
  /** @param address IPv4 or IPv6, as a resolver gives it */
  allowsAddress(address: string): boolean
}

type Range = [ipaddr.IPv4 | ipaddr.IPv6, number]

const HOST = /^[a-z0-9_]([-a-z0-9_]{0,62}\.?)*$/

/** Addresses of clouds' metadata that lie among public ones. */
const METADATA: readonly string[] = ['168.63.129.16']

const PUBLIC_IPV6 = ipaddr.parseCIDR('2000::/3')

const hostName = (name: string): string => name.toLowerCase().replace(/\.$/, '')

/** An IPv4 address in IPv6's clothes is judged as what it is. */
const parsed = (address: string): ipaddr.IPv4 | ipaddr.IPv6 => ipaddr.process(address.replace(/%.*$/, ''))

const isWithin = (address: ipaddr.IPv4 | ipaddr.IPv6, range: Range): boolean =>
  address.kind() === range[0].kind() && address.match(range)

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (METADATA.includes(address.toString())) return false
  // `range` names what is special; what it does not know must still lie where addresses are given out.
  return address.range() === 'unicast' && (address.kind() === 'ipv4' || isWithin(address, PUBLIC_IPV6))
}

function rangeOf(entry: string): Range | undefined {
  const [address = '', bits, ...rest] = entry.split('/')
  const version = isIP(address)
  if (version === 0) return undefined
  if (bits === undefined) return [parsed(address), parsed(address).kind() === 'ipv4' ? 32 : 128]
  if (rest.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > (version === 4 ? 32 : 128))
    return undefined
  return [ipaddr.parse(address), Number(bits)]
}

/**
 * @param entries hosts, addresses and CIDR ranges that may be reached besides public addresses
 * @throws OperatorError naming an entry that is none of these
 */
export function egressRule(entries: readonly string[]): EgressRule {
  const ranges: Range[] = []
  const hosts = new Set<string>()
  for (const entry of entries) {
    const range = rangeOf(entry)
    if (range !== undefined) ranges.push(range)
    else if (HOST.test(hostName(entry)) && /[a-z]/.test(hostName(entry))) hosts.add(hostName(entry))
    else
      throw new OperatorError(
        `ATRIUM_ALLOWED_ADDRESSES: ${JSON.stringify(entry)} is no host, address or CIDR range`,
      )
  }
  return {
    allowsHost: (name) => hosts.has(hostName(name)),
    allowsAddress(text) {
      if (isIP(text) === 0) return false
      const address = parsed(text)
      return isPublic(address) || ranges.some((range) => isWithin(address, range))
    },
  }
}
