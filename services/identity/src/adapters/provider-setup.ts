import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from '@atrium/kernel/log'
import type Provider from 'oidc-provider'
import type { KoaContextWithOIDC } from 'oidc-provider'
import type { KeyRing } from '../domain/key-ring.ts'
import { JWKS_MAX_AGE_SECONDS } from '../domain/key-rotation.ts'

/** Answers one request of a realm; `address` is the caller's, behind whatever proxies. */
export type RealmHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  address: string,
) => Promise<void>

/** The key that signs now comes first: the library takes the first that fits. */
export function signingKeys(ring: KeyRing) {
  const current = ring.current()
  const rest = ring.published().filter(({ kid }) => kid !== current.kid)
  return [current, ...rest].map((key) => ({ ...key.privateJwk }))
}

const CORS_HEADERS = ['access-control-allow-origin', 'access-control-expose-headers']

/** What both realms need of the library and it does not do by itself. Call before adding more middleware. */
export function setUpProvider(provider: Provider, log: Logger): void {
  // Without this, addresses in discovery would follow the caller's Host header.
  provider.OIDCContext.prototype.urlFor = (name: string, options?: unknown) =>
    provider.urlFor(name, options as Record<string, unknown> | undefined)
  // It takes the scheme from a header that `markScheme` wrote; addresses it does not use.
  provider.proxy = true
  provider.use(async (ctx, next) => {
    // Browsers get CORS by the server's allow-list; left alone, the library would allow every origin.
    const cors = CORS_HEADERS.map((name) => ({ name, value: ctx.res.getHeader(name) }))
    await next()
    for (const { name, value } of cors) {
      if (value === undefined) ctx.res.removeHeader(name)
      else ctx.res.setHeader(name, value)
    }
    const oidc: KoaContextWithOIDC['oidc'] | undefined = ctx.oidc
    if (oidc?.route === 'jwks') ctx.set('cache-control', `public, max-age=${JWKS_MAX_AGE_SECONDS}`)
    if (ctx.body?.error === 'server_error') {
      ctx.body.error_description = `Internal error; quote request ${ctx.res.getHeader('x-request-id')}`
    }
  })
  provider.on('server_error', (_ctx, error) => log.error({ err: error }, 'an OAuth endpoint failed'))
  // Without a listener, Koa prints to the console.
  provider.onerror = (error: unknown) => log.warn({ err: error }, 'answering an OAuth request failed')
}

/** Cookies are Secure where the public address is https, whatever the last hop of the request was. */
export function markScheme(request: IncomingMessage, publicUrl: string): void {
  request.headers['x-forwarded-proto'] = publicUrl.startsWith('https:') ? 'https' : 'http'
  delete request.headers['x-forwarded-host']
}

/** The library is built for one set of keys; another set, or another signer, gets another instance. */
export function onCurrentKeys<T>(ring: KeyRing, create: () => T): () => T {
  const make = () => ({ keys: ring.published(), signer: ring.current().kid, made: create() })
  let latest: ReturnType<typeof make> | undefined
  return () => {
    const isCurrent = latest?.keys === ring.published() && latest.signer === ring.current().kid
    if (latest === undefined || !isCurrent) latest = make()
    return latest.made
  }
}
