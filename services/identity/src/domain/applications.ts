/** An application that people sign in to. Whoever runs the platform registered it, so nobody is asked for consent. */
export interface Application {
  readonly clientId: string
  readonly name: string
  /** Exact addresses; on loopback any port will do (RFC 8252 §7.3). */
  readonly redirectUris: readonly string[]
}

export const CONSOLE_CLIENT_ID = 'atrium-console'

const LOOPBACK = new Set(['127.0.0.1', '[::1]', 'localhost'])

/** Without its port where that is free to choose; undefined when it is no address at all. */
function comparable(uri: string): URL | undefined {
  const url = URL.parse(uri)
  if (url === null || url.hash !== '' || url.username !== '' || url.password !== '') return undefined
  if (url.protocol === 'http:' && LOOPBACK.has(url.hostname)) url.port = ''
  return url
}

/** Compares whole addresses: no prefix, no pattern. */
export function mayRedirectTo(application: Application, uri: string): boolean {
  const wanted = comparable(uri)
  if (wanted === undefined) return false
  return application.redirectUris.some((known) => known === uri || comparable(known)?.href === wanted.href)
}

/** After signing out: any address of an origin that the application is redirected to. */
export function mayReturnTo(application: Application, uri: string): boolean {
  const wanted = comparable(uri)
  if (wanted === undefined || (wanted.protocol !== 'https:' && wanted.protocol !== 'http:')) return false
  return application.redirectUris.some((known) => comparable(known)?.origin === wanted.origin)
}
