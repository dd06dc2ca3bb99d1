import { type LookupAddress, lookup as systemLookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import type { EgressRule } from '../../domain/egress-rule.ts'

/** An address that requests for tenants may not reach. */
export class EgressRefused extends Error {
  readonly host: string

  constructor(host: string) {
    super(`${host} is no public address, and ATRIUM_ALLOWED_ADDRESSES does not name it`)
    this.host = host
  }
}

/** All addresses of a name. */
export type Resolve = (
  host: string,
  callback: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void

const systemResolve: Resolve = (host, callback) => systemLookup(host, { all: true }, callback)

/**
 * What a socket asks for the addresses of a name: it gets those that may be reached. Whoever connects with it connects
 * to what was checked, so a name that resolves to something else a moment later gains nothing.
 */
export const checkedLookup =
  (rule: EgressRule, resolve: Resolve = systemResolve): LookupFunction =>
  (host, options, callback) =>
    resolve(host, (error, addresses) => {
      const fail = (reason: Error): void => callback(reason, [])
      if (error !== null) return fail(error)
      const allowed = rule.allowsHost(host)
        ? [...addresses]
        : addresses.filter(({ address }) => rule.allowsAddress(address))
      const [first] = allowed
      if (first === undefined) return fail(new EgressRefused(host))
      if (options.all === true) callback(null, allowed)
      else callback(null, first.address, first.family)
    })

/**
 * Sockets do not look up what is an address already.
 * @throws EgressRefused
 */
export function checkLiteral(rule: EgressRule, host: string): void {
  const bare = host.replace(/^\[(.*)\]$/, '$1')
  if (isIP(bare) !== 0 && !rule.allowsAddress(bare)) throw new EgressRefused(bare)
}
