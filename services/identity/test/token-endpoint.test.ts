import { createHash } from 'node:crypto'
import { request } from 'node:http'
import { identityAccess } from '@atrium/identity'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import * as openid from 'openid-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  basic,
  createTestDatabase,
  eventually,
  grant,
  REALM,
  startIdentityServer,
} from './identity-server.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let server: Awaited<ReturnType<typeof startIdentityServer>>
let clientId: string
let secret: string

beforeAll(async () => {
  database = await createTestDatabase()
  server = await startIdentityServer(database.url)
  const made = await server.identity.clients.create({ name: 'Nightly report', status: 'Active' })
  clientId = made.clientId
  secret = made.secret
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const token = (fields: Record<string, string> | string, headers = {}) =>
  server.postForm('/access_token', fields, headers)
const scoped = { grant_type: 'client_credentials', scope: 'machine2machine' }

describe('a token by client credentials', () => {
  test('by form: exactly the four fields, never stored by caches', async () => {
    const answer = await token(grant(clientId, secret))
    expect(answer.status).toBe(200)
    expect(Object.keys(answer.body).sort()).toEqual(['access_token', 'expires_in', 'scope', 'token_type'])
    expect(answer.body).toMatchObject({ scope: 'machine2machine', token_type: 'Bearer', expires_in: 3600 })
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('x-request-id')).not.toBeNull()
    expect(answer.headers.get('access-control-allow-origin')).toBeNull()
  })

  test('is a signed JWT of a fixed issuer and audience, about the client', async () => {
    const jwt = await server.token(clientId, secret)
    expect(decodeProtectedHeader(jwt)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' })
    const claims = decodeJwt(jwt)
    expect(claims).toMatchObject({
      iss: `${server.url}${REALM}`,
      aud: server.url,
      sub: clientId,
      client_id: clientId,
      scope: 'machine2machine',
      token_use: 'client',
    })
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(3600)
    expect(await server.identity.verifyToken(jwt)).toEqual({
      kind: 'client',
      clientId,
      name: 'Nightly report',
    })
  })

  test('by HTTP Basic', async () => {
    const answer = await token(scoped, basic(clientId, secret))
    expect(answer.status).toBe(200)
  })

  test('for openid-client, from discovery on', async () => {
    const config = await openid.discovery(
      new URL(`${server.url}${REALM}/.well-known/openid-configuration`),
      clientId,
      undefined,
      openid.ClientSecretBasic(secret),
      { execute: [openid.allowInsecureRequests] },
    )
    const tokens = await openid.clientCredentialsGrant(config, { scope: 'machine2machine' })
    expect(tokens.expiresIn()).toBeGreaterThan(3590)
    const told = await openid.tokenIntrospection(config, tokens.access_token)
    expect(told).toMatchObject({ active: true, client_id: clientId, token_type: 'Bearer' })
  })

  test('lives as long as its client’s tokens do', async () => {
    const short = await server.identity.clients.create({
      name: 'Short',
      status: 'Active',
      tokenLifetimeSeconds: 60,
    })
    const answer = await token(grant(short.clientId, short.secret))
    expect(answer.body.expires_in).toBe(60)
  })

  test('whatever Accept says, JSON answers', async () => {
    const answer = await token({ ...grant(clientId, 'x'.repeat(32)) }, { accept: 'text/html' })
    expect(answer.status).toBe(401)
    expect(answer.headers.get('content-type')).toContain('application/json')
  })
})

describe('refusals', () => {
  const refused: [string, () => ReturnType<typeof token>, number, string][] = [
    ['no scope', () => token({ ...grant(clientId, secret), scope: '' }), 400, 'invalid_scope'],
    ['an unknown scope', () => token({ ...grant(clientId, secret), scope: 'admin' }), 400, 'invalid_scope'],
    [
      'one unknown scope among others',
      () => token({ ...grant(clientId, secret), scope: 'machine2machine openid' }),
      400,
      'invalid_scope',
    ],
    ['a bad secret', () => token(grant(clientId, 'wrong')), 401, 'invalid_client'],
    ['an empty secret', () => token(grant(clientId, '')), 401, 'invalid_client'],
    ['a bad secret by Basic', () => token(scoped, basic(clientId, 'wrong')), 401, 'invalid_client'],
    ['an unknown client', () => token(grant('nobody', secret)), 401, 'invalid_client'],
    ['NUL in the client id', () => token(grant('a\0b', secret)), 401, 'invalid_client'],
    ['an injection as client id', () => token(grant("' or 1=1 --", secret)), 401, 'invalid_client'],
    ['a huge client id', () => token(grant('x'.repeat(5000), secret)), 401, 'invalid_client'],
    ['a prototype as client id', () => token(grant('__proto__', secret)), 401, 'invalid_client'],
    ['no credentials', () => token(scoped), 400, 'invalid_request'],
    [
      'both kinds of credentials',
      () => token(grant(clientId, secret), basic(clientId, secret)),
      400,
      'invalid_request',
    ],
    [
      'another client in the form',
      () => token({ ...scoped, client_id: 'x' }, basic(clientId, secret)),
      400,
      'invalid_request',
    ],
    ['a bearer header', () => token(scoped, { authorization: 'Bearer x' }), 400, 'invalid_request'],
    ['Basic that is not base64', () => token(scoped, { authorization: 'Basic ###' }), 400, 'invalid_request'],
    ['no grant', () => token({ ...grant(clientId, secret), grant_type: '' }), 400, 'invalid_request'],
    [
      'the password grant',
      () => token({ ...grant(clientId, secret), grant_type: 'password' }),
      400,
      'unsupported_grant_type',
    ],
    [
      'the code grant',
      () => token({ ...grant(clientId, secret), grant_type: 'authorization_code' }),
      400,
      'unsupported_grant_type',
    ],
    [
      'a grant called __proto__',
      () => token({ ...grant(clientId, secret), grant_type: '__proto__' }),
      400,
      'unsupported_grant_type',
    ],
    [
      'a parameter twice',
      () => token(`${new URLSearchParams(grant(clientId, secret))}&scope=machine2machine`),
      400,
      'invalid_request',
    ],
    [
      'a foreign resource',
      () => token({ ...grant(clientId, secret), resource: 'https://elsewhere.test' }),
      400,
      'invalid_target',
    ],
    [
      'a form of 20 KiB',
      () => token({ ...grant(clientId, secret), more: 'x'.repeat(20_000) }),
      413,
      'invalid_request',
    ],
    [
      'JSON',
      () => server.call('POST', `${REALM}/access_token`, { body: grant(clientId, secret) }),
      400,
      'invalid_request',
    ],
  ]
  test.each(refused)('%s', async (_name, ask, status, error) => {
    const answer = await ask()
    expect(answer.status).toBe(status)
    expect(Object.keys(answer.body).sort()).toEqual(['error', 'error_description'])
    expect(answer.body.error).toBe(error)
    expect(answer.body.error_description).not.toBe('')
  })

  test('JSON is told what to send instead', async () => {
    const answer = await server.call('POST', `${REALM}/access_token`, { body: grant(clientId, secret) })
    expect(answer.body.error_description).toContain('application/x-www-form-urlencoded')
  })

  test('a wrong Basic secret is challenged', async () => {
    const answer = await token(scoped, basic(clientId, 'wrong'))
    expect(answer.headers.get('www-authenticate')).toMatch(/^Basic realm=/)
  })

  test('credentials in the query do not count', async () => {
    const answer = await server.call(
      'POST',
      `${REALM}/access_token?${new URLSearchParams(grant(clientId, secret))}`,
      {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: 'grant_type=client_credentials',
      },
    )
    expect(answer.status).toBe(400)
  })

  test('a chunked form without end is cut off', async () => {
    const status = await new Promise<number>((resolve, reject) => {
      const sent = request(`${server.url}${REALM}/access_token`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      })
      sent.once('response', (response) => resolve(response.statusCode ?? 0))
      sent.once('error', reject)
      for (let i = 0; i < 100; i++) sent.write('x'.repeat(1024))
      sent.end()
    })
    expect(status).toBe(400)
  })

  test.each(['In Progress', 'Disabled'] as const)('a client that is %s', async (status) => {
    const made = await server.identity.clients.create({ name: 'Waiting', status: 'Active' })
    await database.pool.query('update identity.clients set status = $2 where client_id = $1', [
      made.clientId,
      status,
    ])
    const answer = await token(grant(made.clientId, made.secret))
    expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client'])
  })

  test('guessing is slowed down for that client alone', async () => {
    const guessed = await server.identity.clients.create({ name: 'Guessed', status: 'Active' })
    const statuses: number[] = []
    for (let i = 0; i < 12; i++) statuses.push((await token(grant(guessed.clientId, `guess-${i}`))).status)
    expect(statuses.slice(0, 10)).toEqual(Array(10).fill(401))
    const answer = await token(grant(guessed.clientId, guessed.secret))
    expect([answer.status, answer.body.error]).toEqual([429, 'slow_down'])
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await token(grant(clientId, secret))).status).toBe(200)
  })
})

describe('secrets', () => {
  test('are in the database as SHA-256 only', async () => {
    const { rows } = await database.pool.query('select * from identity.client_secrets where client_id = $1', [
      clientId,
    ])
    expect(rows).toHaveLength(1)
    expect(rows[0].hash.equals(createHash('sha256').update(secret).digest())).toBe(true)
    expect(JSON.stringify(rows)).not.toContain(secret)
  })

  test('and credentials never reach the log', async () => {
    await token(grant(clientId, secret))
    await token(grant(clientId, 'a-wrong-secret-in-the-log'))
    await token(scoped, basic(clientId, secret))
    const log = server.lines.join('')
    for (const word of [secret, 'a-wrong-secret-in-the-log', basic(clientId, secret).authorization]) {
      expect(log).not.toContain(word)
    }
  })

  test('rotate with an overlap, and then only the new one counts', async () => {
    const made = await server.identity.clients.create({ name: 'Rotating', status: 'Active' })
    const works = async (candidate: string) => (await token(grant(made.clientId, candidate))).status === 200
    const second = await server.identity.clients.rotateSecret(made.clientId, 3600)
    await eventually(() => works(second.secret))
    expect(await works(made.secret)).toBe(true)
    const third = await server.identity.clients.rotateSecret(made.clientId, 0)
    await eventually(async () => !(await works(made.secret)) && !(await works(second.secret)))
    expect(await works(third.secret)).toBe(true)
  })
})

describe('the surroundings', () => {
  test('browsers are let in by the allow-list alone', async () => {
    const ask = async (where: typeof server, origin: string) => {
      const answer = await where.postForm('/access_token', grant(clientId, secret), { origin })
      return [answer.status, answer.headers.get('access-control-allow-origin')]
    }
    await using open = await startIdentityServer(database.url, { corsOrigins: ['https://app.test'] })
    expect(await ask(open, 'https://app.test')).toEqual([200, 'https://app.test'])
    expect(await ask(open, 'https://evil.test')).toEqual([200, null])
    expect(await ask(server, 'https://evil.test')).toEqual([200, null])
  })

  test('a database that fails gives an opaque 500, and the log the cause', async () => {
    await using broken = await createTestDatabase()
    await using failing = await startIdentityServer(broken.url)
    await broken.pool.query('drop table identity.clients cascade')
    const answer = await failing.postForm('/access_token', grant(clientId, secret))
    expect(answer.status).toBe(500)
    expect(answer.body).toEqual({
      error: 'server_error',
      error_description: `Internal error; quote request ${answer.headers.get('x-request-id')}`,
    })
    expect(failing.lines.join('')).toContain('relation \\"identity.clients\\" does not exist')
    expect(failing.lines.join('')).not.toContain(secret)
  })
})

describe('beside the token endpoint', () => {
  test('discovery names the fixed addresses, whatever Host says', async () => {
    const answer = await new Promise<string>((resolve, reject) => {
      request(
        `${server.url}${REALM}/.well-known/openid-configuration`,
        { headers: { host: 'evil.test' } },
        (response) => {
          let text = ''
          response.on('data', (chunk) => {
            text += chunk
          })
          response.on('end', () => resolve(text))
        },
      )
        .once('error', reject)
        .end()
    })
    expect(answer).not.toContain('evil.test')
    expect(JSON.parse(answer)).toEqual({
      issuer: `${server.url}${REALM}`,
      token_endpoint: `${server.url}${REALM}/access_token`,
      jwks_uri: `${server.url}${REALM}/connect/jwk_uri`,
      introspection_endpoint: `${server.url}${REALM}/introspect`,
      revocation_endpoint: `${server.url}${REALM}/token/revoke`,
      grant_types_supported: ['client_credentials'],
      response_types_supported: [],
      scopes_supported: ['machine2machine'],
      subject_types_supported: ['public'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    })
  })

  test('the key set has public parts only and may be kept for a minute', async () => {
    const answer = await server.call('GET', `${REALM}/connect/jwk_uri`)
    expect(answer.status).toBe(200)
    expect(answer.headers.get('cache-control')).toBe('public, max-age=60')
    for (const key of answer.body.keys) expect(key).not.toHaveProperty('d')
  })

  test('introspection tells a client about its own tokens only', async () => {
    const other = await server.identity.clients.create({ name: 'Other', status: 'Active' })
    const jwt = await server.token(clientId, secret)
    const ask = (id: string, given: string, what: string) =>
      server.postForm('/introspect', { token: what, client_id: id, client_secret: given })
    expect((await ask(clientId, secret, jwt)).body).toMatchObject({ active: true, sub: clientId })
    expect((await ask(other.clientId, other.secret, jwt)).body).toEqual({ active: false })
    expect((await ask(clientId, secret, `${jwt}x`)).body).toEqual({ active: false })
    expect((await ask(clientId, secret, 'no token')).body).toEqual({ active: false })
    expect((await ask(clientId, 'wrong', jwt)).status).toBe(401)
    expect(
      (await server.postForm('/introspect', { client_id: clientId, client_secret: secret })).status,
    ).toBe(400)
    // A person's token from before the client took the id.
    const people = await server.identity.mintUserToken({ qxId: 'taken-over' })
    const late = await server.identity.clients.create({ clientId: 'taken-over', name: 'L', status: 'Active' })
    expect((await ask('taken-over', late.secret, people)).body).toEqual({ active: false })
  })

  test('unknown paths and methods have the same error shape', async () => {
    const missing = await server.call('GET', '/auth/nothing')
    expect(missing.status).toBe(404)
    expect(Object.keys(missing.body).sort()).toEqual(['error', 'error_description'])
    const method = await server.call('GET', `${REALM}/access_token`)
    expect([method.status, method.headers.get('allow')]).toEqual([405, 'OPTIONS, POST'])
    expect(method.body.error).toBe('method_not_allowed')
    expect((await server.call('GET', `${REALM}/auth`)).status).toBe(404)
    expect((await server.call('GET', `${REALM}/request`)).status).toBe(404)
  })

  test('every operation is in OpenAPI', async () => {
    const { body } = await server.call('GET', '/auth/openapi.json')
    const operations = Object.values(body.paths as Record<string, Record<string, { operationId: string }>>)
      .flatMap((methods) => Object.values(methods))
      .map(({ operationId }) => operationId)
    expect(operations.sort()).toEqual(Object.keys(identityAccess).sort())
  })

  test('counters tell what happened', async () => {
    const text = await server.metrics.metrics()
    expect(text).toMatch(/atrium_identity_tokens_issued_total \d+/)
    expect(text).toMatch(/atrium_identity_token_requests_denied_total\{error="invalid_client"\} \d+/)
    expect(text).toMatch(/atrium_identity_token_requests_denied_total\{error="invalid_scope"\} \d+/)
  })
})
