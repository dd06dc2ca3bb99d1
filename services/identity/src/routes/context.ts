import type { IncomingMessage, ServerResponse } from 'node:http'

/** What the routes need. */
export interface IdentityContext {
  /**
   * The OAuth library of the machine realm, on the keys that are published now. `address` is the caller's,
   * behind whatever proxies.
   */
  machineRealm(): (request: IncomingMessage, response: ServerResponse, address: string) => Promise<void>
}
