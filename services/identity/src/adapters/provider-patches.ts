import Provider from 'oidc-provider'
import { type Application, mayRedirectTo, mayReturnTo } from '../domain/applications.ts'
import type { Sessions } from '../domain/sessions.ts'
import { actOn } from './request-origin.ts'

/*
 * Every place where oidc-provider is changed from inside, for it has no setting for it. Its version is pinned exactly,
 * and provider-patches.test.ts fails when one of these functions is not what it was when the change was written.
 */

/** Addresses in discovery would follow the caller's Host header. */
export function useOwnAddresses(provider: Provider): void {
  provider.OIDCContext.prototype.urlFor = (name: string, options?: unknown) =>
    provider.urlFor(name, options as Record<string, unknown> | undefined)
}

/** The library compares plain texts; only hashes are stored. */
export function useOwnSecrets(
  provider: Provider,
  compare: (clientId: string, secret: string) => Promise<boolean>,
): void {
  provider.Client.prototype.compareClientSecret = function compareSecret(secret: string) {
    return compare(this.clientId, secret)
  }
}

/** The library compares redirect URIs of web applications letter by letter; loopback's port is free. */
export function useOwnRedirects(provider: Provider, applications: readonly Application[]): void {
  const byId = new Map(applications.map((application) => [application.clientId, application]))
  provider.Client.prototype.redirectUriAllowed = function allowed(uri: string) {
    const application = byId.get(this.clientId)
    return application !== undefined && mayRedirectTo(application, uri)
  }
  provider.Client.prototype.postLogoutRedirectUriAllowed = function allowed(uri: string) {
    const application = byId.get(this.clientId)
    return application !== undefined && mayReturnTo(application, uri)
  }
}

/** The library's session of a browser and ours are one: they share the id, and end together. */
export function useOwnSessions(provider: Provider, sessions: Sessions): void {
  const { loginAccount, destroy } = provider.Session.prototype
  provider.Session.prototype.loginAccount = function login(details) {
    const result = Provider.ctx?.oidc.entities.Interaction?.result
    if (typeof result?.sessionId === 'string') this.uid = result.sessionId
    loginAccount.call(this, details)
  }
  provider.Session.prototype.destroy = async function end() {
    if (this.accountId !== undefined) {
      const { accountId, uid } = this
      const person = { kind: 'user', qxId: accountId, name: accountId } as const
      const act = actOn(Provider.ctx?.req, person)
      await sessions.end(accountId, uid, act).catch((error: { status?: number }) => {
        // It was over already.
        if (error.status !== 404) throw error
      })
    }
    await destroy.call(this)
  }
}
