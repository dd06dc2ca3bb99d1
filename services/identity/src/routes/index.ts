import type { ServiceScope } from '@atrium/kernel/http'
import type { IdentityContext } from './context.ts'
import { machineRealmRoutes } from './machine-realm.ts'

/**
 * All routes, below `/auth`. Everyone may call them; OAuth authenticates clients by itself.
 *
 * POST …/machine2machine/access_token                        issueMachineToken
 * POST …/machine2machine/introspect                          introspectMachineToken
 * GET  …/machine2machine/.well-known/openid-configuration    getMachineDiscovery
 * GET  …/machine2machine/connect/jwk_uri                     getMachineKeys
 */
export function identityRoutes(scope: ServiceScope, context: IdentityContext): void {
  machineRealmRoutes(scope, context)
}
