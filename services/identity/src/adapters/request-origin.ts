import type { IncomingMessage } from 'node:http'
import { type Act, systemAct } from '@atrium/access'

const origins = new WeakMap<IncomingMessage, Act>()

/** Keeps what the library does not know of a request that it answers, for the audit log. */
export function rememberOrigin(request: IncomingMessage, act: Act): void {
  origins.set(request, act)
}

/** What somebody does by a request that the library answers. */
export const actOn = (
  request: IncomingMessage | undefined,
  caller: Pick<Act, 'kind' | 'qxId' | 'name'>,
): Act => ({
  ...((request && origins.get(request)) ?? systemAct('identity')),
  ...caller,
})
