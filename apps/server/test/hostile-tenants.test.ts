/** Ten hostile tenants, one for each risk of the OWASP API Security Top 10 of 2023. */
import { createHmac, createPublicKey, generateKeyPairSync, type JsonWebKey, sign } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type FakeOpenAi,
  freePort,
  startFakeOpenAi,
  startTestPlatform,
  type TestPlatform,
} from '@atrium/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

type Space = Awaited<ReturnType<TestPlatform['space']>>

let platform: TestPlatform
let fake: FakeOpenAi
let victim: Space
let attacker: Space
/** A server that nobody may ever be made to call. */
let trap: Server
let trapUrl = ''
const trapped: string[] = []

beforeAll(async () => {
  trap = createServer((request, response) => {
    trapped.push(request.url ?? '')
    response.end('{}')
  }).listen(0, '127.0.0.1')
  await once(trap, 'listening')
  trapUrl = `http://127.0.0.1:${(trap.address() as AddressInfo).port}`
  fake = await startFakeOpenAi({ models: false })
  platform = await startTestPlatform({
    env: { OPENAI_BASE_URL: fake.url, OPENAI_API_KEY: 'sk-operator-secret', ATRIUM_SANDBOX: 'off' },
  })
  victim = await platform.space()
  attacker = await platform.space()
})
afterAll(async () => {
  await platform.close()
  await fake.close()
  trap.close()
})

const portal = (method: string, path: string, token: string, body?: unknown) =>
  platform.call(method, `/portal/v1${path}`, { token, ...(body === undefined ? {} : { body }) })

const chat = (token: string, body: unknown) =>
  platform.call('POST', '/llm/v1/chat/completions', { token, body })

describe('1. the one who tries other tenants’ ids', () => {
  it('reaches nothing of another space, by its own path or under a space of their own', async () => {
    const theirs = `/spaces/${victim.spaceId}`
    for (const token of [attacker.ownerToken, attacker.memberToken, attacker.apiKey]) {
      for (const path of ['', '/users', '/apikeys', '/mkflw-workspaces', '/cdh-links']) {
        expect((await portal('GET', theirs + path, token)).status, path).toBe(403)
      }
    }
    for (const token of [attacker.ownerToken, attacker.memberToken, attacker.apiKey]) {
      for (const method of ['GET', 'QUERY']) {
        const answer = await platform.call(method, `/agents/v1${theirs}/agent`, { token })
        expect(answer.status, method).toBe(403)
      }
    }
    expect((await portal('GET', `${theirs}/costs/report?month=2026-01`, attacker.ownerToken)).status).toBe(
      403,
    )
    expect((await portal('PATCH', theirs, attacker.ownerToken, { spaceName: 'mine now' })).status).toBe(403)
    const borrowed = `/spaces/${attacker.spaceId}/apikeys/${victim.apiKeyId}`
    expect((await portal('DELETE', borrowed, attacker.ownerToken)).status).toBe(404)
    expect(
      (await chat(victim.apiKey, { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] })).status,
    ).toBe(200)
    const listed = (await portal('GET', '/spaces', attacker.ownerToken)).body as { spaceId: string }[]
    expect(listed.map(({ spaceId }) => spaceId)).toEqual([attacker.spaceId])
  })
})

describe('2. the one who forges credentials', () => {
  const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const decode = (token: string, index: number) =>
    JSON.parse(Buffer.from(token.split('.')[index] ?? '', 'base64url').toString()) as Record<string, unknown>

  it('gets 401 for every trick with a token', async () => {
    const real = victim.ownerToken
    const [header, claims] = [decode(real, 0), decode(real, 1)]
    const discovery = await (await fetch(`${claims.iss}/.well-known/openid-configuration`)).json()
    const { keys } = (await (await fetch((discovery as { jwks_uri: string }).jwks_uri)).json()) as {
      keys: JsonWebKey[]
    }
    const publicKey = createPublicKey({ key: keys[0] ?? {}, format: 'jwk' }).export({
      type: 'spki',
      format: 'pem',
    })
    const own = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const signed = (head: object, body: object): string => {
      const text = `${part(head)}.${part(body)}`
      return `${text}.${sign('sha256', Buffer.from(text), { key: own.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url')}`
    }
    const hmac = (): string => {
      const text = `${part({ ...header, alg: 'HS256' })}.${part(claims)}`
      return `${text}.${createHmac('sha256', publicKey).update(text).digest('base64url')}`
    }
    const forged: Record<string, string> = {
      'alg none': `${part({ alg: 'none' })}.${part(claims)}.`,
      'alg None, old signature': `${part({ ...header, alg: 'None' })}.${part(claims)}.${real.split('.')[2]}`,
      'HMAC with the public key': hmac(),
      'another key under the same kid': signed(header, claims),
      'a key of its own in the header': signed(
        { ...header, jwk: own.publicKey.export({ format: 'jwk' }) },
        claims,
      ),
      'a key at an address of its own': signed({ ...header, jku: `${trapUrl}/jwks` }, claims),
      'a kid that is a path': signed({ ...header, kid: '../../../../dev/null' }, claims),
      'another subject, old signature': `${part(header)}.${part({ ...claims, sub: 'qx-admin', qxId: 'qx-admin' })}.${real.split('.')[2]}`,
      'another issuer': signed(header, { ...claims, iss: 'https://evil.example' }),
      'no signature': real.split('.').slice(0, 2).join('.'),
    }
    for (const [trick, token] of Object.entries(forged)) {
      expect((await portal('GET', `/spaces/${victim.spaceId}`, token)).status, trick).toBe(401)
    }
    const expired = await platform.userToken({ qxId: 'qx-admin', lifetimeSeconds: 1 })
    // Clocks of several machines may differ by a few seconds, so it ends a little later than it says.
    await expect
      .poll(async () => (await portal('GET', '/spaces', expired)).status, { timeout: 9000 })
      .toBe(401)
    expect((await portal('GET', '/spaces', expired)).body.error.message).toMatch(/expired/i)
    expect(trapped).toEqual([])
  })

  it('finds a revoked key dead within a second, and learns nothing from wrong ones', async () => {
    const space = await platform.space()
    expect((await portal('GET', '/spaces', space.apiKey)).status).toBe(200)
    await portal('DELETE', `/spaces/${space.spaceId}/apikeys/${space.apiKeyId}`, space.ownerToken)
    await expect
      .poll(async () => (await portal('GET', '/spaces', space.apiKey)).status, { timeout: 10_000 })
      .toBe(401)
    const guess = space.apiKey.replace(/.$/, (last) => (last === '0' ? '1' : '0'))
    expect((await portal('GET', '/spaces', guess)).status).toBe(401)
  })
})

describe('3. the one who sends more fields than asked for, and reads more than meant', () => {
  it('sets no field of the server’s and never sees a secret again', async () => {
    const made = await portal('POST', '/spaces', platform.superuser.token, {
      spaceName: 'plain',
      appId: 'APP',
      spaceId: victim.spaceId,
      createdAt: '1999-01-01T00:00:00.000Z',
      createdBy: { qxId: 'somebody', name: 'else' },
      userCount: 99,
      version: 7,
    })
    expect(made.status).toBe(201)
    expect(made.body.spaceId).not.toBe(victim.spaceId)
    expect(made.body.createdAt).not.toMatch(/^1999/)
    const renamed = await portal('PATCH', `/spaces/${attacker.spaceId}`, attacker.ownerToken, {
      description: 'x',
      spaceId: victim.spaceId,
      createdBy: { qxId: 'me', name: 'me' },
    })
    expect([renamed.status, renamed.body.spaceId]).toEqual([200, attacker.spaceId])
    const keys = await portal('GET', `/spaces/${attacker.spaceId}/apikeys`, attacker.ownerToken)
    expect(JSON.stringify(keys.body)).not.toContain(attacker.apiKey)
    expect(keys.body.data[0]).not.toHaveProperty('apiKeyValue')
    const key = await portal('POST', `/spaces/${attacker.spaceId}/apikeys`, platform.superuser.token, {
      name: 'mine',
      apiKeyValue: victim.apiKey,
      status: 'Revoked',
      apiKeyId: victim.apiKeyId,
    })
    expect(key.body).toMatchObject({ status: 'Active' })
    expect(key.body.apiKeyValue).not.toBe(victim.apiKey)
  })
})

describe('4. the one who asks for too much', () => {
  it.each(['limit=1000000', 'limit=0', 'limit=-1', 'limit=1e9', 'page=0', 'search=x%00y'])(
    'is refused %s with 400',
    async (query) => {
      expect(
        (await portal('GET', `/spaces/${attacker.spaceId}/users?${query}`, attacker.ownerToken)).status,
      ).toBe(400)
    },
  )

  it('meets the rate limit of their key, with the time to wait', async () => {
    await using limited = await startTestPlatform({
      env: { ATRIUM_GATEWAY_RATE_LIMIT: '5', OPENAI_BASE_URL: fake.url },
    })
    const { apiKey } = await limited.space()
    const call = () =>
      limited.call('POST', '/llm/v1/chat/completions', {
        token: apiKey,
        body: { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] },
      })
    const answers = await Promise.all(Array.from({ length: 8 }, call))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(5)
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(3)
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})

describe('5. the one who calls what is not for their role', () => {
  it('is refused every act of an administrator', async () => {
    for (const token of [attacker.ownerToken, attacker.memberToken, attacker.apiKey]) {
      expect((await portal('POST', '/spaces', token, { spaceName: 'x', appId: 'x' })).status).toBe(403)
      expect((await portal('GET', '/admin/superuser', token)).status).toBe(403)
      const promote = { qNumber: 'qx-me', name: 'Me', mailAddress: 'me@example.test' }
      expect((await portal('POST', '/admin/superuser', token, promote)).status).toBe(403)
      const join = { ...promote, role: 'owner' }
      expect((await portal('POST', `/spaces/${attacker.spaceId}/users`, token, join)).status).toBe(403)
      expect((await portal('POST', `/spaces/${attacker.spaceId}/apikeys`, token, { name: 'x' })).status).toBe(
        403,
      )
    }
    const entry = { day: '2026-01-01', service: 'x', calculatedCost: 1, currency: 'USD' }
    expect(
      (await portal('POST', `/spaces/${attacker.spaceId}/costs`, attacker.ownerToken, entry)).status,
    ).toBe(403)
  })
})

describe('6. the one who runs a flow by the thousand', () => {
  it('is slowed down when guessing client secrets', async () => {
    const guess = () =>
      platform.call('POST', '/auth/oauth2/realms/root/realms/machine2machine/access_token', {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams({
          grant_type: 'client_credentials',
          scope: 'machine2machine',
          client_id: platform.superuserClient.clientId,
          client_secret: `guess-${Math.random()}-0123456789`,
        }).toString(),
      })
    const statuses: number[] = []
    for (let n = 0; n < 15; n++) statuses.push((await guess()).status)
    expect(statuses.slice(0, 5)).toEqual([401, 401, 401, 401, 401])
    expect(statuses.at(-1)).toBe(429)
  })
})

describe('7. the one who makes the server call for them', () => {
  it('finds no field that is fetched', async () => {
    const everywhere = (fields: readonly string[]) =>
      Object.fromEntries(fields.map((field) => [field, `${trapUrl}/${field}`]))
    await portal(
      'PATCH',
      `/spaces/${attacker.spaceId}`,
      attacker.ownerToken,
      everywhere(['spaceName', 'appId', 'description']),
    )
    await portal('POST', `/spaces/${attacker.spaceId}/cdh-links`, platform.superuser.token, {
      ...everywhere(['name', 'cdhHub', 'cdhProviderId', 'cdhEnvAccountID']),
      cdhType: 'Provider',
      stage: 'Dev',
    })
    await chat(attacker.apiKey, {
      model: 'gpt-4o',
      base_url: trapUrl,
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: `${trapUrl}/image` } }] }],
    })
    await platform.call('GET', '/portal/v1/spaces', {
      token: attacker.ownerToken,
      headers: {
        host: new URL(trapUrl).host,
        'x-forwarded-host': new URL(trapUrl).host,
        forwarded: `host=${new URL(trapUrl).host}`,
      },
      unchecked: true,
    })
    expect(trapped).toEqual([])
  })

  it('cannot lead the address of a data-hub link elsewhere', async () => {
    const made = await portal('POST', `/spaces/${attacker.spaceId}/cdh-links`, platform.superuser.token, {
      name: 'tricky',
      cdhType: 'Provider',
      cdhHub: '../../evil?x=',
      cdhProviderId: '@evil.example/#',
      cdhEnvAccountID: '1/../../..',
      stage: 'Dev',
    })
    if (made.status !== 201) return expect(made.status).toBe(400)
    const { pathname, search, hash } = new URL(made.body.cdhLink)
    expect([search, hash]).toEqual(['', ''])
    expect(pathname.split('/').filter((part) => part === '..')).toEqual([])
    expect(pathname).toMatch(/\/providers\/[^/]+\/environments\/[^/]+$/)
  })
})

describe('8. the one who looks for carelessness', () => {
  it('sees safe headers on every kind of answer, no stack, no foreign origin, no debugging', async () => {
    const answers = await Promise.all([
      platform.call('GET', '/portal/health'),
      platform.call('GET', '/portal/v1/spaces'),
      platform.call('GET', '/nowhere', { unchecked: true }),
      platform.call('POST', '/portal/v1/spaces', { token: platform.superuser.token, body: '{' }),
      platform.call('OPTIONS', '/portal/v1/spaces', {
        headers: { origin: 'https://evil.example' },
        unchecked: true,
      }),
    ])
    for (const { headers, body } of answers) {
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('content-security-policy')).toContain("default-src 'none'")
      expect(headers.get('access-control-allow-origin')).toBeNull()
      expect(headers.get('server') ?? headers.get('x-powered-by')).toBeNull()
      expect(JSON.stringify(body)).not.toMatch(/node_modules|\bat .*\.ts/)
    }
  })
})

describe('9. the one who looks for forgotten doors', () => {
  it.each([
    '/metrics',
    '/debug',
    '/.env',
    '/.git/config',
    '/portal/v2/spaces',
    '/portal/v1/admin',
    '/auth/interaction/x',
    '/auth/oauth2/realms/root/realms/machine2machine/authorize',
    '/llm/v1/completions',
    '/llm/v1/chat/completions/',
    '/portal//v1/spaces',
  ])('finds nothing at %s', async (path) => {
    const { status } = await platform.call('GET', path, { unchecked: true })
    expect([404, 405]).toContain(status)
  })
})

describe('10. the backend that turns hostile', () => {
  const ask = () => chat(victim.apiKey, { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] })

  it.each([
    ['sends HTML', { body: '<html><script>alert(1)</script>', contentType: 'text/html' }, 502],
    ['sends something that is not JSON', { body: '{"choices": [', contentType: 'application/json' }, 502],
    ['redirects', { status: 302, body: '' }, 502],
    [
      'refuses our own key',
      {
        status: 401,
        body: JSON.stringify({ error: { message: 'Incorrect API key provided: sk-operator-secret' } }),
      },
      502,
    ],
    ['fails', { status: 500, body: JSON.stringify({ error: { message: 'boom' } }) }, 502],
    ['drops the connection', { reset: true }, 502],
  ])('%s: the caller gets a clean error of ours', async (_, behaviour, expected) => {
    // A connection that was in use before is tried once more.
    fake.next(behaviour, ...('reset' in behaviour ? [behaviour] : []))
    const answer = await ask()
    expect([expected, 500, 503]).toContain(answer.status)
    expect(answer.body.error.message).toMatch(/\w+/)
    expect(JSON.stringify(answer.body)).not.toMatch(/sk-operator|<html|<script/)
    expect(answer.headers.get('set-cookie')).toBeNull()
  })

  it('is unreachable: 502, and the next call works when it is back', async () => {
    await using alone = await startTestPlatform({
      env: { OPENAI_BASE_URL: `http://127.0.0.1:${await freePort()}/v1` },
    })
    const { apiKey } = await alone.space()
    const body = { model: 'gpt-4o', messages: [{ role: 'user', content: 'hi' }] }
    expect((await alone.call('POST', '/llm/v1/chat/completions', { token: apiKey, body })).status).toBe(502)
    expect((await ask()).status).toBe(200)
  })
})
