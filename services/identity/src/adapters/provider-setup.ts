import type { IncomingMessage } from 'node:http'
import { type AppError, isUnavailable } from '@atrium/kernel/errors'
import type { Logger } from '@atrium/kernel/log'
import type Provider from 'oidc-provider'
import type { KoaContextWithOIDC } from 'oidc-provider'
import { JWKS_MAX_AGE_SECONDS } from '../domain/key-rotation.ts'
import type { SigningKeys } from '../domain/signing-keys.ts'
import { UNAVAILABLE } from '../errors.ts'
import type { RealmHandler } from '../ports.ts'
import { useOwnAddresses } from './provider-patches.ts'
import { rememberOrigin } from './request-origin.ts'

/** The key that signs now comes first: the library takes the first that fits. */
export function privateJwks(signingKeys: SigningKeys) {
  const current = signingKeys.current()
  const rest = signingKeys.published().filter(({ kid }) => kid !== current.kid)
  return [current, ...rest].map((key) => ({ ...key.privateJwk }))
}

const CORS_HEADERS = ['access-control-allow-origin', 'access-control-expose-headers']

/** Requests that failed because the database does not answer. */
const outages = new WeakMap<object, AppError>()

/** To the library every error that it does not know is a `server_error`. */
function answerOutage(ctx: Pick<KoaContextWithOIDC, 'status' | 'set' | 'body'>, outage: AppError): void {
  ctx.status = outage.status
  for (const [name, value] of Object.entries(outage.headers ?? {})) ctx.set(name, value)
  if (typeof ctx.body !== 'string') ctx.body = { error: UNAVAILABLE, error_description: outage.message }
}

/** What both realms need of the library and it does not do by itself. Call before adding more middleware. */
export function setUpProvider(provider: Provider, log: Logger): void {
  useOwnAddresses(provider)
  // It takes the scheme from a header that `markScheme` wrote; addresses it does not use.
  provider.proxy = true
  provider.use(async (ctx, next) => {
    // Browsers get CORS by the server's allow-list; left alone, the library would allow every origin.
    const cors = CORS_HEADERS.map((name) => ({ name, value: ctx.res.getHeader(name) }))
    await next().catch((error: unknown) => {
      if (!isUnavailable(error)) throw error
      outages.set(ctx, error)
    })
    for (const { name, value } of cors) {
      if (value === undefined) ctx.res.removeHeader(name)
      else ctx.res.setHeader(name, value)
    }
    const oidc: KoaContextWithOIDC['oidc'] | undefined = ctx.oidc
    if (oidc?.route === 'jwks') ctx.set('cache-control', `public, max-age=${JWKS_MAX_AGE_SECONDS}`)
    const outage = outages.get(ctx)
    if (outage !== undefined) answerOutage(ctx, outage)
    else if (ctx.body?.error === 'server_error') {
      ctx.body.error_description = `Internal error; quote request ${ctx.res.getHeader('x-request-id')}`
    }
  })
  provider.on('server_error', (ctx, error) => {
    if (isUnavailable(error)) outages.set(ctx, error)
    else log.error({ err: error }, 'an OAuth endpoint failed')
  })
  // Without a listener, Koa prints to the console.
  provider.onerror = (error: unknown) => log.warn({ err: error }, 'answering an OAuth request failed')
}

/** Cookies are Secure where the public address is https, whatever the last hop of the request was. */
export function markScheme(request: IncomingMessage, publicUrl: string): void {
  request.headers['x-forwarded-proto'] = publicUrl.startsWith('https:') ? 'https' : 'http'
  delete request.headers['x-forwarded-host']
}

/** Answers requests by the library; what it does not know of them is kept for the audit log. */
export const answerBy =
  (callback: () => ReturnType<Provider['callback']>, publicUrl: string): RealmHandler =>
  (request, response, { act }) => {
    markScheme(request, publicUrl)
    rememberOrigin(request, act)
    return callback()(request, response)
  }

/** The library is built for one set of keys; another set, or another signer, gets another instance. */
export function onCurrentKeys<T>(signingKeys: SigningKeys, create: () => T): () => T {
  const make = () => ({ keys: signingKeys.published(), signer: signingKeys.current().kid, made: create() })
  let latest: ReturnType<typeof make> | undefined
  return () => {
    const isCurrent = latest?.keys === signingKeys.published() && latest.signer === signingKeys.current().kid
    if (latest === undefined || !isCurrent) latest = make()
    return latest.made
  }
}
