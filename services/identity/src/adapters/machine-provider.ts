import type { IncomingMessage } from 'node:http'
import type { Logger } from '@atrium/kernel/log'
import Provider, { type Adapter, type Configuration, errors, type KoaContextWithOIDC } from 'oidc-provider'
import type { AttemptThrottle } from '../domain/attempt-throttle.ts'
import type { ClientDirectory, KnownClient } from '../domain/client-directory.ts'
import { matchesAnyHash } from '../domain/client-secret.ts'
import type { KeyRing } from '../domain/key-ring.ts'
import { SIGNING_ALG } from '../domain/key-rotation.ts'
import type { IdentityMetrics } from '../domain/metrics.ts'
import { MACHINE_ROUTES, MACHINE_SCOPE, type Realms } from '../domain/realms.ts'
import type { RevokedTokens } from '../domain/revoked-tokens.ts'
import { setUpProvider, signingKeys } from './provider-setup.ts'

export interface MachineProviderDeps {
  readonly ring: KeyRing
  readonly clients: ClientDirectory
  readonly realms: Realms
  readonly throttle: AttemptThrottle
  /** Where each request under way comes from; the library knows of no trusted proxies. */
  readonly addresses: WeakMap<IncomingMessage, string>
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
function adapterOf(clients: ClientDirectory): (model: string) => Adapter {
  const nothing = async (): Promise<undefined> => undefined
  const refuse = (model: string) => async (): Promise<never> => {
    throw new Error(`the machine realm stores no ${model}`)
  }
  return (model) => ({
    find:
      model === 'Client'
        ? async (id) => {
            const client = await clients.find(id)
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

function configurationOf({ ring, clients, realms }: MachineProviderDeps): Configuration {
  return {
    adapter: adapterOf(clients),
    jwks: { keys: signingKeys(ring) },
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
            jwt: { sign: { alg: SIGNING_ALG, kid: ring.current().kid } },
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
  compareHashedSecrets(provider, deps)
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
      await revokeSigned(oidc, deps)
      ctx.body = ''
      ctx.status = 200
    }
  })
  provider.on('grant.success', () => deps.metrics.tokenIssued())
  provider.on('grant.error', (_ctx, error) => deps.metrics.tokenDenied(error.error))
  return provider
}

/** Only hashes are stored, so comparing is ours; so is slowing down who guesses. */
function compareHashedSecrets(
  provider: Provider,
  { clients, throttle, addresses }: MachineProviderDeps,
): void {
  provider.Client.prototype.compareClientSecret = async function compare(secret: string) {
    const ctx = Provider.ctx
    // Per client and address: guessing is slowed down, yet nobody can lock a client out from elsewhere.
    const key = `${this.clientId} ${ctx === undefined ? '' : addresses.get(ctx.req)}`
    const waitSeconds = Math.ceil(throttle.waitSeconds(key))
    if (waitSeconds > 0) {
      ctx?.set('retry-after', String(waitSeconds))
      throw new TooManyAttempts(waitSeconds)
    }
    const client = await clients.find(this.clientId)
    const matches = client !== undefined && matchesAnyHash(secret, client.hashes)
    if (!matches) throttle.failed(key)
    return matches
  }
}

/** The caller's own token, where it is good now. */
async function ownToken(oidc: KoaContextWithOIDC['oidc'], deps: MachineProviderDeps) {
  const token = oidc.params?.token
  const claims = typeof token === 'string' ? await deps.introspect(token) : undefined
  return claims !== undefined && claims.client_id === oidc.client?.clientId ? claims : undefined
}

/** A token that is not the caller's, or no longer good, is answered alike (RFC 7009 §2.2). */
async function revokeSigned(oidc: KoaContextWithOIDC['oidc'], deps: MachineProviderDeps): Promise<void> {
  const claims = await ownToken(oidc, deps)
  if (claims === undefined) return
  const { jti, exp, client_id: clientId } = claims
  if (typeof jti !== 'string' || typeof exp !== 'number' || typeof clientId !== 'string') return
  await deps.revoked.revoke({ jti, clientId, expiresAt: exp })
  deps.clients.forget(clientId)
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
