import type { ServiceRateLimits } from '@atrium/access'
import type { ServiceScope } from '@atrium/kernel/http'
import type { identityAccess } from '../access.ts'
import type { AccountsContext, MachineContext, PeopleContext } from '../context.ts'
import { accountRoutes } from './accounts.ts'
import { machineRealmRoutes } from './machine-realm.ts'
import { pageRoutes } from './pages.ts'
import { peopleRealmRoutes } from './people-realm.ts'
import { sessionRoutes } from './sessions.ts'

/**
 * All routes, below `/auth`; a realm whose issuer is external has none here.
 *
 * Everyone; OAuth and the pages authenticate by themselves. Below /oauth2/realms/root/realms:
 * POST /machine2machine/access_token                        issueMachineToken
 * POST /machine2machine/introspect                          introspectMachineToken
 * POST /machine2machine/token/revoke                        revokeMachineToken
 * GET  /machine2machine/.well-known/openid-configuration    getMachineDiscovery
 * GET  /machine2machine/connect/jwk_uri                     getMachineKeys
 * GET  /people/authorize                                    authorizePerson
 * GET  /people/authorize/:uid                               resumeAuthorization
 * GET  /people/sign-in/:uid                                 showSignIn
 * POST /people/sign-in/:uid                                 signIn
 * GET  /people/password                                     showPasswordPage
 * POST /people/password                                     changePasswordOnPage
 * POST /people/access_token                                 issueUserToken
 * POST /people/token/revoke                                 revokeUserToken
 * GET  /people/.well-known/openid-configuration             getPeopleDiscovery
 * GET  /people/connect/jwk_uri                              getPeopleKeys
 * GET  /people/connect/endSession                           requestSignOut
 * POST /people/connect/endSession/confirm                   confirmSignOut
 * GET  /people/connect/endSession/success                   showSignedOut
 * GET  /people/choose-password                              showChoosePassword
 * POST /people/choose-password                              choosePassword
 * GET  /people/invitation                                   showInvitation
 * POST /people/invitation                                   acceptInvitationOnPage
 *
 * People with their own token:
 * GET  /people/userinfo                                     getUserInfo
 * POST /people/userinfo                                     postUserInfo
 * GET    /v1/sessions                                       listSessions
 * DELETE /v1/sessions                                       endOtherSessions
 * DELETE /v1/sessions/:sessionId                            endSession
 * POST   /v1/password                                       changePassword
 *
 * Superusers:
 * GET    /v1/admin/accounts                                 listAccounts
 * POST   /v1/admin/accounts                                 createAccount
 * GET    /v1/admin/accounts/:qxId                           getAccount
 * PATCH  /v1/admin/accounts/:qxId                           updateAccount
 * POST   /v1/admin/accounts/:qxId:reset-password            resetAccountPassword
 */
export function identityRoutes(
  scope: ServiceScope,
  contexts: {
    machines: MachineContext | undefined
    people: PeopleContext | undefined
    accounts: AccountsContext
  },
  limits: ServiceRateLimits,
): void {
  limitAddresses(scope, limits)
  accountRoutes(scope, contexts.accounts)
  if (contexts.machines !== undefined) machineRealmRoutes(scope, contexts.machines)
  if (contexts.people === undefined) return
  peopleRealmRoutes(scope, contexts.people)
  pageRoutes(scope, contexts.people)
  sessionRoutes(scope, contexts.people)
}

/**
 * Public operations that are not limited by address: what machines ask is limited by client and address where the
 * library knows the client, and who verifies tokens must always get the keys.
 */
const NOT_BY_ADDRESS: ReadonlySet<string> = new Set<keyof typeof identityAccess>([
  'issueMachineToken',
  'introspectMachineToken',
  'revokeMachineToken',
  'getMachineDiscovery',
  'getMachineKeys',
  'getPeopleDiscovery',
  'getPeopleKeys',
])

function limitAddresses(scope: ServiceScope, limits: ServiceRateLimits): void {
  scope.addHook('onRequest', async ({ ip, routeOptions: { config } }, reply) => {
    const isOpen = config.public === true && !NOT_BY_ADDRESS.has(config.operationId ?? '')
    if (isOpen) await limits.admitAddress(ip, (name, value) => void reply.header(name, value))
  })
}
