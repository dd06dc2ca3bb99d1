import type { AuditLog } from '@atrium/access'
import type { MasterKey } from '@atrium/kernel/crypto'
import { isUnavailable } from '@atrium/kernel/errors'
import type { Logger } from '@atrium/kernel/log'
import Provider, {
  type Configuration,
  type ErrorOut,
  errors,
  interactionPolicy,
  type KoaContextWithOIDC,
} from 'oidc-provider'
import type { Accounts } from '../domain/accounts.ts'
import type { Application } from '../domain/applications.ts'
import { SIGNING_ALG } from '../domain/key-rotation.ts'
import { PEOPLE_PAGES, PEOPLE_ROUTES, type Realms } from '../domain/realms.ts'
import type { Sessions } from '../domain/sessions.ts'
import type { SigningKeys } from '../domain/signing-keys.ts'
import { errorPage, signedOutPage, signOutPage } from '../pages/messages.ts'
import type { Page } from '../pages/page.ts'
import type { IdentityDatabase } from '../queries/tables.ts'
import { createOidcStore, endGrant } from './oidc-store.ts'
import { useOwnRedirects, useOwnSessions } from './provider-patches.ts'
import { privateJwks, setUpProvider } from './provider-setup.ts'

export interface PeopleProviderDeps {
  readonly db: IdentityDatabase
  readonly signingKeys: SigningKeys
  readonly realms: Realms
  readonly masterKey: MasterKey
  readonly audit: AuditLog
  readonly accounts: Accounts
  readonly sessions: Sessions
  readonly applications: readonly Application[]
  readonly tokenLifetimeSeconds: number
  readonly sessionSeconds: number
  /** Claims of a token of this realm that is good now, else undefined. */
  readonly introspect: (token: string) => Promise<Record<string, unknown> | undefined>
  readonly log: Logger
}

const SCOPES = ['openid', 'offline_access', 'profile', 'email']
const SESSION_COOKIE = 'atrium_session'
/** Seconds to fill in the login page, and to come back with a code. */
const INTERACTION_SECONDS = 900
const CODE_SECONDS = 60

/** Shows a page of ours from inside the library. */
function show(ctx: Pick<KoaContextWithOIDC, 'type' | 'set' | 'body'>, page: Page): void {
  ctx.type = 'html'
  ctx.set('content-security-policy', page.policy)
  ctx.body = page.html
}

const clientsOf = (applications: readonly Application[]) =>
  applications.map((application) => ({
    client_id: application.clientId,
    client_name: application.name,
    redirect_uris: [...application.redirectUris],
    application_type: application.redirectUris.every((uri) => /^https?:/.test(uri))
      ? ('web' as const)
      : ('native' as const),
    token_endpoint_auth_method: 'none' as const,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code' as const],
    scope: SCOPES.join(' '),
  }))

/** Whoever runs the platform registered the application, so signing in is consenting. */
async function grantOf(ctx: KoaContextWithOIDC, audience: string) {
  const { client, session, account, provider } = ctx.oidc
  if (client === undefined || session === undefined || account === undefined) return undefined
  const knownId = session.grantIdFor(client.clientId)
  const known = knownId === undefined ? undefined : await provider.Grant.find(knownId)
  const grant =
    known?.accountId === account.accountId
      ? known
      : new provider.Grant({ clientId: client.clientId, accountId: account.accountId })
  const scopes = [...ctx.oidc.requestParamScopes].filter((scope) => SCOPES.includes(scope))
  grant.addOIDCScope(scopes)
  grant.addResourceScope(audience, scopes)
  await grant.save()
  return grant
}

/** The account behind a session, a code or a refresh token: none once it is disabled or the session is over. */
const accountFinder =
  ({ accounts, sessions }: PeopleProviderDeps): NonNullable<Configuration['findAccount']> =>
  async (ctx, qxId, token) => {
    const account = await accounts.find(qxId)
    if (account === undefined || account.isDisabled) return undefined
    const source = token as { sessionUid?: string } | undefined
    const sessionId = source?.sessionUid ?? ctx.oidc.session?.uid
    if (sessionId === undefined || !(await sessions.touch(qxId, sessionId))) return undefined
    return {
      accountId: qxId,
      claims: () => ({
        sub: qxId,
        qxId,
        name: account.name,
        preferred_username: qxId,
        ...(account.mailAddress === '' ? {} : { email: account.mailAddress }),
      }),
    }
  }

function policyOf() {
  const policy = interactionPolicy.base()
  policy
    .get('login')
    ?.checks.add(
      new interactionPolicy.Check('account_gone', 'The account of this session cannot be used', (ctx) =>
        ctx.oidc.session?.accountId !== undefined && ctx.oidc.account === undefined
          ? interactionPolicy.Check.REQUEST_PROMPT
          : interactionPolicy.Check.NO_NEED_TO_PROMPT,
      ),
    )
  return policy
}

function tokensOf(deps: PeopleProviderDeps): Configuration {
  const { accounts } = deps
  return {
    issueRefreshToken: async () => true,
    // A session's end deletes its refresh tokens by itself.
    expiresWithSession: async () => false,
    rotateRefreshToken: true,
    conformIdTokenClaims: false,
    claims: { openid: ['sub', 'qxId'], profile: ['name', 'preferred_username'], email: ['email'] },
    ttl: {
      AccessToken: deps.tokenLifetimeSeconds,
      IdToken: deps.tokenLifetimeSeconds,
      AuthorizationCode: CODE_SECONDS,
      Interaction: INTERACTION_SECONDS,
      Session: deps.sessionSeconds,
      Grant: deps.sessionSeconds,
      RefreshToken: deps.sessionSeconds,
    },
    async extraTokenClaims(_ctx, token) {
      const { accountId, sessionUid, grantId } = token as {
        accountId?: string
        sessionUid?: string
        grantId?: string
      }
      const account = await accounts.find(accountId ?? '')
      return {
        token_use: 'user',
        qxId: accountId ?? '',
        name: account?.name ?? accountId ?? '',
        sid: sessionUid ?? '',
        gid: grantId ?? '',
      }
    },
    features: featuresOf(deps),
  }
}

function featuresOf({ signingKeys, realms }: PeopleProviderDeps): NonNullable<Configuration['features']> {
  return {
    devInteractions: { enabled: false },
    // Tokens are signed, not stored; the library's own endpoint knows stored ones only.
    userinfo: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    revocation: {
      enabled: true,
      allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId,
    },
    rpInitiatedLogout: {
      enabled: true,
      logoutSource: (ctx) => askToSignOut(ctx),
      postLogoutSuccessSource: async (ctx) => show(ctx, signedOutPage()),
    },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => realms.audience,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource) => {
        if (resource !== realms.audience) throw new errors.InvalidTarget()
        return {
          scope: SCOPES.join(' '),
          audience: realms.audience,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: SIGNING_ALG, kid: signingKeys.current().kid } },
        }
      },
    },
  }
}

function configurationOf(deps: PeopleProviderDeps): Configuration {
  const { realms, masterKey } = deps
  const isHttps = realms.peopleIssuer.startsWith('https:')
  const cookie = { httpOnly: true, sameSite: 'lax', signed: true, secure: isHttps, path: '/auth' } as const
  const { path: _fromUrl, ...shortCookie } = cookie
  return {
    ...tokensOf(deps),
    adapter: createOidcStore(deps.db, deps.audit),
    jwks: { keys: privateJwks(deps.signingKeys) },
    clients: clientsOf(deps.applications),
    clientDefaults: { id_token_signed_response_alg: SIGNING_ALG },
    enabledJWA: { idTokenSigningAlgValues: [SIGNING_ALG] },
    scopes: SCOPES,
    responseTypes: ['code'],
    clientAuthMethods: ['none'],
    clientBasedCORS: () => true,
    pkce: { required: () => true },
    routes: PEOPLE_ROUTES,
    findAccount: accountFinder(deps),
    loadExistingGrant: (ctx) => grantOf(ctx, realms.audience),
    interactions: {
      policy: policyOf(),
      url: (_ctx, interaction) => `${realms.peopleIssuer}${PEOPLE_PAGES.signIn}/${interaction.uid}`,
    },
    cookies: {
      // The first signs; cookies that another one signed are good as well.
      keys: masterKey.deriveAll('identity/cookies').map((key) => key.toString('base64url')),
      names: { session: SESSION_COOKIE, interaction: 'atrium_interaction', resume: 'atrium_resume' },
      long: cookie,
      short: shortCookie,
    },
    renderError: (ctx, out: ErrorOut, error) => show(ctx, errorPage(reasonOf(ctx, out, error))),
  }
}

/** To the library a database that does not answer is one more fault of ours, and it says `oops` to those. */
function reasonOf(ctx: KoaContextWithOIDC, out: ErrorOut, error: unknown): string {
  if (isUnavailable(error)) return error.message
  if (out.error === 'server_error')
    return `Internal error; quote request ${ctx.res.getHeader('x-request-id')}`
  return out.error_description ?? out.error
}

/** Whoever shows this person's own id token is the application itself; anybody else's link must be confirmed. */
async function askToSignOut(ctx: KoaContextWithOIDC): Promise<void> {
  const { session, entities, provider } = ctx.oidc
  const state = (session?.state ?? {}) as { secret?: string; state?: string; postLogoutRedirectUri?: string }
  const hint = entities.IdTokenHint as { payload?: { sub?: string } } | undefined
  if (session === undefined || hint?.payload?.sub !== session.accountId) {
    const action = `${provider.issuer}${PEOPLE_ROUTES.end_session}/confirm`
    show(ctx, signOutPage({ action, xsrf: state.secret ?? '', returnsTo: state.postLogoutRedirectUri }))
    return
  }
  await session.destroy()
  ctx.cookies.set(SESSION_COOKIE, null, { path: '/auth', signed: true, httpOnly: true, sameSite: 'lax' })
  const target = new URL(
    state.postLogoutRedirectUri ?? `${provider.issuer}${PEOPLE_ROUTES.end_session}/success`,
  )
  if (state.postLogoutRedirectUri !== undefined && state.state !== undefined) {
    target.searchParams.set('state', state.state)
  }
  ctx.status = 303
  ctx.redirect(target.href)
}

/** The people's realm on oidc-provider: authorization code with PKCE, refresh, logout, revocation. */
export function createPeopleProvider(deps: PeopleProviderDeps): Provider {
  const provider = new Provider(deps.realms.peopleIssuer, configurationOf(deps))
  setUpProvider(provider, deps.log)
  useOwnRedirects(provider, deps.applications)
  useOwnSessions(provider, deps.sessions)
  provider.use(async (ctx, next) => {
    const mode = ctx.query.response_mode
    if (mode !== undefined && mode !== 'query') {
      // The library's other modes need a script, or leave the code where scripts and logs find it.
      ctx.status = 400
      show(ctx, errorPage('The response mode must be query'))
      return
    }
    await next()
    const oidc: KoaContextWithOIDC['oidc'] | undefined = ctx.oidc
    if (oidc?.route === 'discovery') {
      ctx.body.userinfo_endpoint = `${provider.issuer}${PEOPLE_PAGES.userInfo}`
      ctx.body.response_modes_supported = ['query']
    }
    if (oidc?.route === 'revocation' && ctx.body?.error === 'unsupported_token_type') {
      await revokeSigned(oidc, deps)
      ctx.body = ''
      ctx.status = 200
    }
  })
  return provider
}

/** Revoking an access token ends the grant that it was issued on, and with it the refresh token. */
async function revokeSigned(oidc: KoaContextWithOIDC['oidc'], deps: PeopleProviderDeps): Promise<void> {
  const token = oidc.params?.token
  if (typeof token !== 'string') return
  const claims = await deps.introspect(token)
  if (typeof claims?.gid !== 'string' || claims.client_id !== oidc.client?.clientId) return
  await endGrant(deps.db, deps.audit, claims.gid)
}
