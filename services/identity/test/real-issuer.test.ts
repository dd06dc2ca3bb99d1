import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createLogger } from '@atrium/kernel/log'
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose'
import Provider from 'oidc-provider'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRemoteJwks } from '../src/adapters/remote-jwks.ts'
import { createTestDatabase, startIdentityServer } from './identity-server.ts'

const PREFIX = '/am/oauth2/realms/root/realms/staff'

async function newKey(kid: string): Promise<JWK> {
  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  return { ...(await exportJWK(privateKey)), kid, alg: 'RS256', use: 'sig' }
}

/**
 * A second OpenID provider, set up like the access-management product that many have: its issuer is not
 * the prefix of its addresses, scopes are an array, tokens have no type, and the audience is the client.
 */
async function startAccessManagement(fixedPort = 0) {
  const server = createServer()
  server.listen(fixedPort, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${port}`
  const issuer = `${origin}/am/oauth2/staff`
  const keys: JWK[] = [await newKey('k1')]
  let handler = makeProvider().callback()

  function makeProvider(): Provider {
    const provider = new Provider(issuer, {
      jwks: { keys: keys.map((key) => ({ ...key })) },
      clients: [
        {
          client_id: 'svc-1',
          client_secret: 'secret-of-svc-1',
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
          scope: 'machine2machine',
        },
        {
          client_id: 'atrium-web',
          token_endpoint_auth_method: 'none',
          redirect_uris: [`${origin}/callback`],
          response_types: ['code'],
          grant_types: ['authorization_code'],
        },
      ],
      scopes: ['openid', 'machine2machine'],
      claims: { openid: ['sub'] },
      findAccount: async (_ctx, sub) => ({ accountId: sub, claims: () => ({ sub }) }),
      routes: {
        token: `${PREFIX}/access_token`,
        jwks: `${PREFIX}/connect/jwk_uri`,
        authorization: `${PREFIX}/authorize`,
      },
      features: {
        devInteractions: { enabled: false },
        clientCredentials: { enabled: true },
        resourceIndicators: {
          enabled: true,
          defaultResource: () => `${origin}/anything`,
          useGrantedResource: () => true,
          getResourceServerInfo: (_ctx, _resource, client) => ({
            scope: 'machine2machine openid',
            audience: client.clientId,
            accessTokenFormat: 'jwt',
            jwt: { sign: { alg: 'RS256', kid: keys.at(-1)?.kid ?? '' } },
          }),
        },
      },
      interactions: { url: (_ctx, { uid }) => `${origin}/login/${uid}` },
      loadExistingGrant: async (ctx) => {
        const { client, account } = ctx.oidc
        if (client === undefined || account === undefined) return undefined
        const grant = new provider.Grant({ clientId: client.clientId, accountId: account.accountId })
        grant.addOIDCScope('openid')
        grant.addResourceScope(`${origin}/anything`, 'openid')
        await grant.save()
        return grant
      },
      pkce: { required: () => true },
      cookies: { keys: ['k'] },
      formats: {
        customizers: {
          jwt: (_ctx, token, parts) => {
            const { scope, ...rest } = parts.payload
            // Whose header has no `typ`, whose scope is a list, and who says how the token came about.
            parts.header = { typ: undefined }
            parts.payload = {
              ...rest,
              scope: typeof scope === 'string' ? scope.split(' ') : [],
              realm: '/staff',
              tokenName: 'access_token',
              ...(token.kind === 'ClientCredentials'
                ? { grant_type: 'client_credentials' }
                : {
                    grant_type: 'authorization_code',
                    employee_number: `emp-${String(rest.sub)}`,
                    name: 'Grace',
                  }),
            }
          },
        },
      },
    })
    return provider
  }

  let current = makeProvider()
  handler = current.callback()
  server.on('request', async (request, response) => {
    const url = request.url ?? ''
    if (url.startsWith('/login/')) {
      await current.interactionFinished(request, response, { login: { accountId: 'grace' } })
      return
    }
    if (url === `${PREFIX}/.well-known/openid-configuration`)
      request.url = '/am/oauth2/staff/.well-known/openid-configuration'
    // The library serves below its issuer; this product serves elsewhere.
    request.url = request.url?.replace(/^\/am\/oauth2\/staff/, '') ?? ''
    await handler(request, response)
  })

  return {
    origin,
    port,
    issuer,
    discoveryUrl: `${origin}${PREFIX}/.well-known/openid-configuration`,
    async rotate(kid: string): Promise<void> {
      keys.push(await newKey(kid))
      current = makeProvider()
      handler = current.callback()
    },
    /** Stops answering, as in an outage. */
    async stop(): Promise<void> {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
    async machineToken(): Promise<string> {
      const response = await fetch(`${origin}${PREFIX}/access_token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          client_id: 'svc-1',
          client_secret: 'secret-of-svc-1',
          scope: 'machine2machine',
        }),
      })
      const body = (await response.json()) as { access_token?: string }
      if (body.access_token === undefined) throw new Error(JSON.stringify(body))
      return body.access_token
    },
    async personToken(): Promise<string> {
      const verifier = randomBytes(32).toString('base64url')
      const cookies = new Map<string, string>()
      let address = `${origin}${PREFIX}/authorize?${new URLSearchParams({
        client_id: 'atrium-web',
        response_type: 'code',
        redirect_uri: `${origin}/callback`,
        scope: 'openid',
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      })}`
      while (!address.startsWith(`${origin}/callback`)) {
        const response = await fetch(address, {
          redirect: 'manual',
          headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
        })
        for (const line of response.headers.getSetCookie()) {
          const [pair = ''] = line.split(';')
          cookies.set(pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1))
        }
        const next = response.headers.get('location')
        if (next === null) throw new Error(`${response.status} ${await response.text()}`)
        // Its own redirects name the issuer's path; a proxy in front of the product translates them.
        address = new URL(next, address).href
      }
      const response = await fetch(`${origin}${PREFIX}/access_token`, {
        method: 'POST',
        body: new URLSearchParams({
          grant_type: 'authorization_code',
          client_id: 'atrium-web',
          code: new URL(address).searchParams.get('code') ?? '',
          code_verifier: verifier,
          redirect_uri: `${origin}/callback`,
        }),
      })
      const body = (await response.json()) as { access_token?: string }
      if (body.access_token === undefined) throw new Error(JSON.stringify(body))
      return body.access_token
    },
  }
}

let database: Awaited<ReturnType<typeof createTestDatabase>>
let product: Awaited<ReturnType<typeof startAccessManagement>>
let server: Awaited<ReturnType<typeof startIdentityServer>>

beforeAll(async () => {
  ;[database, product] = await Promise.all([createTestDatabase(), startAccessManagement()])
  server = await startIdentityServer(database.url, {
    env: {
      ATRIUM_USER_ISSUER: product.issuer,
      ATRIUM_USER_DISCOVERY_URL: product.discoveryUrl,
      ATRIUM_USER_AUDIENCE: 'atrium-web',
      ATRIUM_QXID_CLAIM: 'employee_number',
      ATRIUM_M2M_ISSUER: product.issuer,
      ATRIUM_M2M_DISCOVERY_URL: product.discoveryUrl,
      ATRIUM_M2M_AUDIENCE: 'svc-1,svc-2',
    },
  })
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await product.stop().catch(() => {})
  await database[Symbol.asyncDispose]()
})

const codeOf = (token: string): Promise<string> =>
  server.identity.verifyToken(token).then(
    () => 'accepted',
    (error: { code: string }) => error.code,
  )

describe('an access-management product as issuer', () => {
  test('of machines: its tokens are taken by the client’s id', async () => {
    const token = await product.machineToken()
    const [header = '', payload = ''] = token
      .split('.')
      .map((part) => Buffer.from(part, 'base64url').toString())
    expect(header).not.toContain('"typ"')
    expect(JSON.parse(payload)).toMatchObject({
      iss: product.issuer,
      aud: 'svc-1',
      scope: ['machine2machine'],
      grant_type: 'client_credentials',
    })
    expect(product.discoveryUrl.startsWith(product.issuer)).toBe(false)
    expect(await server.identity.verifyToken(token)).toEqual({
      kind: 'client',
      clientId: 'svc-1',
      name: 'svc-1',
    })
  })

  test('of people: the configured claim names them', async () => {
    expect(await server.identity.verifyToken(await product.personToken())).toEqual({
      kind: 'user',
      qxId: 'emp-grace',
      name: 'Grace',
    })
  })

  test('that rotates its keys is followed', async () => {
    const before = await product.machineToken()
    await product.rotate('k2')
    const after = await product.machineToken()
    expect(Buffer.from(after.split('.')[0] ?? '', 'base64url').toString()).toContain('"k2"')
    // Keys are fetched at most every five seconds for a key id that is not known.
    await expect.poll(() => codeOf(after), { timeout: 8000, interval: 200 }).toBe('accepted')
    expect(await codeOf(before)).toBe('accepted')
  }, 20_000)

  test('that is down keeps being trusted by the keys that are known', async () => {
    const [person, machine, unused] = [
      await product.personToken(),
      await product.machineToken(),
      await product.machineToken(),
    ]
    // The keys may have been read just before these were made; the next reading comes after a cooldown.
    await expect.poll(() => codeOf(person), { timeout: 15_000 }).toBe('accepted')
    await expect.poll(() => codeOf(machine), { timeout: 15_000 }).toBe('accepted')
    await product.stop()
    for (const token of [person, machine, unused]) expect(await codeOf(token)).toBe('accepted')
    const { privateKey } = await generateKeyPair('RS256')
    const forged = await new SignJWT({
      iss: product.issuer,
      aud: 'svc-1',
      sub: 'svc-1',
      scope: ['machine2machine'],
    })
      .setProtectedHeader({ alg: 'RS256', kid: 'k2' })
      .setExpirationTime('1h')
      .sign(privateKey)
    expect(await codeOf(forged)).toBe('token_signature_invalid')
  })
})

describe('a hostile key set', () => {
  const log = createLogger({ level: 'silent' })
  const OCTETS = Buffer.alloc(32, 5)

  async function ask(respond: (response: ServerResponse) => void): Promise<{ code: string; ms: number }> {
    const hostile = createServer((_request, response) => respond(response)).listen(0, '127.0.0.1')
    await once(hostile, 'listening')
    const { port } = hostile.address() as AddressInfo
    const jwks = createRemoteJwks({
      discoveryUrl: '',
      jwksUrl: `http://127.0.0.1:${port}/keys`,
      log,
      times: { timeout: 300, fresh: 50, stale: 1000, cooldown: 10 },
    })
    const start = performance.now()
    const code = await Promise.resolve(
      jwks.getKey({ alg: 'RS256', kid: 'k1' }, { payload: '', signature: '' }),
    ).then(
      (key) => `found ${'type' in key ? key.type : 'bytes'}`,
      (error: { code: string }) => error.code,
    )
    const ms = performance.now() - start
    await jwks.close()
    hostile.closeAllConnections()
    hostile.close()
    return { code, ms }
  }
  const json = (value: unknown) => (response: ServerResponse) =>
    void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))

  test.each<[string, (response: ServerResponse) => void]>([
    ['that is huge', json({ keys: Array(20_000).fill({ kty: 'RSA', n: 'x'.repeat(40) }) })],
    [
      'that never ends',
      (response) => {
        response.writeHead(200)
        const timer = setInterval(() => response.write(' '.repeat(1024)), 10)
        response.on('close', () => clearInterval(timer))
      },
    ],
    ['that never begins', () => {}],
    [
      'behind a redirect',
      (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end(),
    ],
    ['that is no JSON', (response) => void response.writeHead(200).end('<html>')],
    ['that is null', json(null)],
    ['whose keys are none', json({ keys: [null, 1, 'x'] })],
  ])('%s is refused in time', async (_what, respond) => {
    const { code, ms } = await ask(respond)
    expect(code).toBe('issuer_unavailable')
    expect(ms).toBeLessThan(1500)
  })

  test.each([
    ['symmetric', { kty: 'oct', kid: 'k1', k: OCTETS.toString('base64url') }],
    [
      'symmetric and dressed up',
      { kty: 'oct', kid: 'k1', alg: 'RS256', use: 'sig', k: OCTETS.toString('base64url') },
    ],
    ['an RSA key without numbers', { kty: 'RSA', kid: 'k1', alg: 'RS256' }],
  ])('with a key that is %s gives none', async (_what, key) => {
    expect((await ask(json({ keys: [key] }))).code).toBe('ERR_JWKS_NO_MATCHING_KEY')
  })
})
