import { createServer } from 'node:http'
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'

/** An OpenID provider that somebody else runs: discovery, keys, and tokens as its vendor makes them. */
export async function startIssuerServer() {
  const keys = new Map<string, { alg: string; privateKey: CryptoKey; jwk: JWK }>()
  const requests: string[] = []
  const state: { respond: 'well' | 'error' | 'huge' | 'hang' | 'nonsense' | 'elsewhere' } = {
    respond: 'well',
  }

  const server = createServer((request, response) => {
    requests.push(request.url ?? '')
    const json = (value: unknown) =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (state.respond === 'hang') return
    if (state.respond === 'error') return response.writeHead(500).end()
    if (state.respond === 'nonsense') return json({ keys: 'none' })
    if (state.respond === 'elsewhere')
      return response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
    if (state.respond === 'huge') return json({ keys: Array(20_000).fill({ kty: 'EC', x: 'x'.repeat(40) }) })
    if (request.url === '/realms/staff/.well-known/openid-configuration') {
      return json({ issuer, jwks_uri: `${url}/keys` })
    }
    if (request.url === '/keys') return json({ keys: [...keys.values()].map(({ jwk }) => jwk) })
    return response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  // Unlike the prefix of the discovery address, as in some products.
  const issuer = `${url}/staff`

  async function addKey(kid: string, alg: string): Promise<void> {
    const pair = await generateKeyPair(alg, { extractable: true })
    keys.set(kid, {
      alg,
      privateKey: pair.privateKey,
      jwk: { ...(await exportJWK(pair.publicKey)), kid, alg, use: 'sig' },
    })
  }
  await addKey('k1', 'RS256')

  return {
    url,
    issuer,
    discoveryUrl: `${url}/realms/staff/.well-known/openid-configuration`,
    jwksUrl: `${url}/keys`,
    requests,
    state,
    addKey,
    removeKey: (kid: string) => keys.delete(kid),
    token(claims: Record<string, unknown>, kid = 'k1'): Promise<string> {
      const key = keys.get(kid)
      if (key === undefined) throw new Error(`no key ${kid}`)
      return new SignJWT({ iss: issuer, ...claims })
        .setProtectedHeader({ alg: key.alg, kid })
        .setIssuedAt()
        .setExpirationTime('10m')
        .sign(key.privateKey)
    },
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
