import type { IncomingMessage } from 'node:http'
import { networkOf, type ServiceRateLimits } from '@atrium/access'
import { AppError } from '@atrium/kernel/errors'
import type { Logger } from '@atrium/kernel/log'
import { currentWork, hangUpOf, workFor } from '@atrium/kernel/tenant-work'
import Provider, { type Adapter, type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider'
import type { ClientDirectory, KnownClient } from '../domain/client-directory.ts'
import { SIGNING_ALG } from '../domain/key-rotation.ts'
import type { IdentityMetrics } from '../domain/metrics.ts'
import { MACHINE_ROUTES, MACHINE_SCOPE, type Realms } from '../domain/realms.ts'
import type { RevokedTokens } from '../domain/revoked-tokens.ts'
import type { SecretCheck } from '../domain/secret-check.ts'
import type { SigningKeys } from '../domain/signing-keys.ts'
import { UNAVAILABLE } from '../errors.ts'
import { useOwnSecrets } from './provider-patches.ts'
import { privateJwks, setUpProvider } from './provider-setup.ts'
import { actOn } from './request-origin.ts'

export interface MachineProviderDeps {
  readonly signingKeys: SigningKeys
  readonly clients: ClientDirectory
  readonly realms: Realms
  readonly checkSecret: (clientId: string, secret: string, network: string) => Promise<SecretCheck>
  /** Where each request under way comes from; the library knows of no trusted proxies. */
  readonly addresses: WeakMap<IncomingMessage, string>
  readonly limits: ServiceRateLimits
  readonly metrics: IdentityMetrics
  readonly log: Logger
  /** Claims of a token of this realm that is good now, else undefined. */
  readonly introspect: (token: string) => Promise<Record<string, unknown> | undefined>
  readonly revoked: RevokedTokens
}

/** 429 in OAuth's shape; the code is RFC 8628's. */
class TooManyAttempts extends errors.OIDCProviderError {
  constructor(waitSeconds: number) {
    super(429, 'slow_down')
    this.error_description = `too many failed attempts; try again in ${waitSeconds} seconds`
  }
}

/** What is refused before the library decides, in OAuth's shape: 429 of the rate limit, 503 where too many wait. */
class Refused extends errors.OIDCProviderError {
  constructor({ status, code, message }: AppError) {
    super(status, status === 503 ? UNAVAILABLE : code)
    this.error_description = message
  }
}

/**
 * Counts a request of the realm, and waits for its turn: of a client that exists by the client and its address, of any
 * other by the address.
 */
async function admit(
  { limits, addresses }: MachineProviderDeps,
  clientId: string | undefined,
): Promise<void> {
  const ctx = Provider.ctx
  if (ctx === undefined) return
  const setHeader = (name: string, value: string): void => ctx.set(name, value)
  const address = addresses.get(ctx.req) ?? ''
  try {
    if (clientId === undefined) await limits.admitAddress(address, setHeader)
    else await limits.admitClientAt(clientId, address, setHeader)
    const network = networkOf(address)
    const tenant = clientId === undefined ? `address:${network}` : `client:${clientId}@${network}`
    const turn = workFor(currentWork(), tenant, hangUpOf(ctx.req, ctx.res))
    if (turn !== undefined) await turn
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    ctx.set({ ...error.headers })
    throw new Refused(error)
  }
}

/** A client as the library wants to see it. The secret is a stand-in: comparing is ours (see below). */
const metadataOf = (client: KnownClient) => ({
  client_id: client.clientId,
  client_secret: 'only its hash is stored',
  token_endpoint_auth_method: 'client_secret_basic' as const,
  grant_types: ['client_credentials'],
  response_types: [],
  redirect_uris: [],
  scope: MACHINE_SCOPE,
  token_lifetime: client.tokenLifetimeSeconds,
})

/** Machine tokens are signed, not stored, so this realm reads clients and keeps nothing. */
function adapterOf(deps: MachineProviderDeps): (model: string) => Adapter {
  const nothing = async (): Promise<undefined> => undefined
  const refuse = (model: string) => async (): Promise<never> => {
    throw new Error(`the machine realm stores no ${model}`)
  }
  return (model) => ({
    find:
      model === 'Client'
        ? async (id) => {
            const known = await deps.clients.find(id)
            if (known?.status === 'Active') return metadataOf(known)
            await admit(deps, undefined)
            const client = await deps.clients.findAnew(id)
            return client?.status === 'Active' ? metadataOf(client) : undefined
          }
        : nothing,
    findByUid: nothing,
    findByUserCode: nothing,
    upsert: refuse(model),
    consume: refuse(model),
    destroy: refuse(model),
    revokeByGrantId: refuse(model),
  })
}

/** The library drops scopes that it does not know; clients of this realm expect to be told. */
function demandScope(ctx: KoaContextWithOIDC): void {
  const asked = ctx.oidc.params?.scope
  if (typeof asked !== 'string' || asked === '') {
    throw invalidScope('No scope requested and no default scope configured')
  }
  const unknown = asked.split(' ').filter((scope) => scope !== MACHINE_SCOPE)
  if (unknown.length > 0) throw invalidScope(`Unknown/invalid scope(s): [${unknown.join(', ')}]`)
}

const invalidScope = (description: string): Error =>
  new errors.CustomOIDCProviderError('invalid_scope', description)

function configurationOf(deps: MachineProviderDeps): Configuration {
  const { signingKeys, realms } = deps
  return {
    adapter: adapterOf(deps),
    jwks: { keys: privateJwks(signingKeys) },
    clientDefaults: { id_token_signed_response_alg: SIGNING_ALG },
    scopes: [MACHINE_SCOPE],
    responseTypes: [],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post'],
    extraClientMetadata: { properties: ['token_lifetime'] },
    routes: MACHINE_ROUTES,
    clientBasedCORS: () => true,
    ttl: {
      ClientCredentials: (_ctx, _token, client) => Number(client.token_lifetime),
    },
    extraTokenClaims: () => ({ token_use: 'client' }),
    renderError: (ctx, out) => {
      ctx.body = out
    },
    features: {
      devInteractions: { enabled: false },
      userinfo: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true },
      revocation: {
        enabled: true,
        allowedPolicy: async (_ctx, client, token) => token.clientId === client.clientId,
      },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => realms.audience,
        getResourceServerInfo: (ctx, resource) => {
          if (resource !== realms.audience) throw new errors.InvalidTarget()
          demandScope(ctx)
          return {
            scope: MACHINE_SCOPE,
            audience: realms.audience,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: SIGNING_ALG, kid: signingKeys.current().kid } },
          }
        },
      },
    },
  }
}

/** What the library says about a code flow, which this realm does not have. */
const NOT_FOR_MACHINES = [
  'authorization_endpoint',
  'authorization_response_iss_parameter_supported',
  'claim_types_supported',
  'claims_parameter_supported',
  'claims_supported',
  'code_challenge_methods_supported',
  'id_token_signing_alg_values_supported',
  'request_uri_parameter_supported',
  'response_modes_supported',
]

/**
 * OAuth's machine-to-machine realm on oidc-provider. The keys are fixed when it is made; a changed set
 * needs a new one.
 */
export function createMachineProvider(deps: MachineProviderDeps): Provider {
  const provider = new Provider(deps.realms.machineIssuer, configurationOf(deps))
  useOwnSecrets(provider, (clientId, secret) => compareSecret(deps, clientId, secret))
  setUpProvider(provider, deps.log)
  provider.use(async (ctx, next) => {
    await next()
    const oidc: KoaContextWithOIDC['oidc'] | undefined = ctx.oidc
    const route = oidc?.route
    if (route === 'discovery') {
      for (const name of NOT_FOR_MACHINES) delete ctx.body[name]
      ctx.body.scopes_supported = [MACHINE_SCOPE]
    }
    if (oidc === undefined || ctx.body?.error !== 'unsupported_token_type') return
    if (route === 'introspection') {
      ctx.body = await introspectSigned(oidc, deps)
      ctx.status = 200
    }
    if (route === 'revocation') {
      await revokeSigned(oidc, ctx.req, deps)
      ctx.body = ''
      ctx.status = 200
    }
  })
  provider.on('grant.success', () => deps.metrics.tokenIssued())
  provider.on('grant.error', (_ctx, error) => deps.metrics.tokenDenied(error.error))
  return provider
}

/** Compares with the hashes that are stored. @throws OIDCProviderError 429 for whoever guesses */
async function compareSecret(deps: MachineProviderDeps, clientId: string, secret: string): Promise<boolean> {
  await admit(deps, clientId)
  const ctx = Provider.ctx
  const address = ctx === undefined ? '' : (deps.addresses.get(ctx.req) ?? '')
  const check = await deps.checkSecret(clientId, secret, networkOf(address))
  if ('matches' in check) return check.matches
  ctx?.set('retry-after', String(check.waitSeconds))
  throw new TooManyAttempts(check.waitSeconds)
}

/** The caller's own token, where it is good now. */
async function ownToken(oidc: KoaContextWithOIDC['oidc'], deps: MachineProviderDeps) {
  const token = oidc.params?.token
  const claims = typeof token === 'string' ? await deps.introspect(token) : undefined
  return claims !== undefined && claims.client_id === oidc.client?.clientId ? claims : undefined
}

/** A token that is not the caller's, or no longer good, is answered alike (RFC 7009 §2.2). */
async function revokeSigned(
  oidc: KoaContextWithOIDC['oidc'],
  request: IncomingMessage,
  deps: MachineProviderDeps,
): Promise<void> {
  const claims = await ownToken(oidc, deps)
  if (claims === undefined) return
  const { jti, exp, client_id: clientId } = claims
  if (typeof jti !== 'string' || typeof exp !== 'number' || typeof clientId !== 'string') return
  const act = actOn(request, { kind: 'client', qxId: clientId, name: clientId })
  await deps.revoked.revoke({ jti, clientId, expiresAt: exp }, act)
  deps.clients.refresh(clientId)
}

/** The library introspects stored tokens only; it refuses ours, after it has authenticated the caller. */
async function introspectSigned(
  oidc: KoaContextWithOIDC['oidc'],
  deps: MachineProviderDeps,
): Promise<object> {
  const claims = await ownToken(oidc, deps)
  if (claims === undefined) return { active: false }
  const { token_use: _use, ...shown } = claims
  return { active: true, token_type: 'Bearer', ...shown }
}
