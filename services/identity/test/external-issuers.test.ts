import { createLogger } from '@atrium/kernel/log'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createRemoteJwks } from '../src/adapters/remote-jwks.ts'
import { createTestDatabase, REALM, startIdentityServer } from './identity-server.ts'
import { startIssuerServer } from './issuer-server.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let people: Awaited<ReturnType<typeof startIssuerServer>>
let machines: Awaited<ReturnType<typeof startIssuerServer>>
let server: Awaited<ReturnType<typeof startIdentityServer>>

const OTHER_ALGORITHMS = ['PS256', 'ES256', 'EdDSA', 'ES512', 'RS512']

beforeAll(async () => {
  ;[database, people, machines] = await Promise.all([
    createTestDatabase(),
    startIssuerServer(),
    startIssuerServer(),
  ])
  for (const alg of OTHER_ALGORITHMS) await people.addKey(alg, alg)
  server = await startIdentityServer(database.url, {
    env: {
      ATRIUM_USER_ISSUER: people.issuer,
      ATRIUM_USER_DISCOVERY_URL: people.discoveryUrl,
      ATRIUM_USER_AUDIENCE: 'atrium,atrium-console',
      ATRIUM_QXID_CLAIM: 'employee_number',
      ATRIUM_M2M_ISSUER: machines.issuer,
      ATRIUM_M2M_JWKS_URL: machines.jwksUrl,
    },
  })
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  for (const part of [people, machines, database]) await part[Symbol.asyncDispose]()
})

const person = { aud: 'atrium', sub: 'u-1', employee_number: 'qx42', name: 'Edsger' }
const machine = { aud: 'svc-1', sub: 'svc-1', client_id: 'svc-1', scope: ['machine2machine'] }

const codeOf = async (token: string | Promise<string>): Promise<string> =>
  server.identity.verifyToken(await token).then(
    () => 'accepted',
    (error: { status: number; code: string }) => `${error.status} ${error.code}`,
  )

describe('an external issuer of people', () => {
  test('its tokens name the person by the configured claim', async () => {
    expect(await server.identity.verifyToken(await people.token(person))).toEqual({
      kind: 'user',
      qxId: 'qx42',
      name: 'Edsger',
    })
  })

  test('any of the audiences will do', async () => {
    expect(await codeOf(people.token({ ...person, aud: ['other', 'atrium-console'] }))).toBe('accepted')
    expect(await codeOf(people.token({ ...person, aud: 'other' }))).toBe('401 token_audience_wrong')
    expect(await codeOf(people.token({ ...person, aud: undefined }))).toBe('401 token_audience_wrong')
  })

  test('a token without the claim names nobody', async () => {
    expect(await codeOf(people.token({ ...person, employee_number: undefined }))).toBe(
      '401 token_claim_invalid',
    )
  })

  test('a machine’s token of that issuer is no person', async () => {
    const marks = [
      { client_id: 'u-1' },
      { azp: 'u-1' },
      { grant_type: 'client_credentials' },
      { gty: 'client-credentials' },
      { idtyp: 'app' },
    ]
    for (const mark of marks) {
      expect(await codeOf(people.token({ ...person, ...mark }))).toBe('401 token_claim_invalid')
    }
  })

  test('the embedded issuer of people is out of use', async () => {
    await expect(server.identity.mintUserToken({ qxId: 'qx1' })).rejects.toMatchObject({
      name: 'OperatorError',
    })
    await using embedded = await startIdentityServer(database.url)
    const token = await embedded.identity.mintUserToken({ qxId: 'qx1' })
    expect(await codeOf(token)).toBe('401 token_issuer_unknown')
  })

  test('each family of signatures is understood', async () => {
    for (const alg of OTHER_ALGORITHMS) {
      expect(await codeOf(people.token(person, alg))).toBe('accepted')
    }
  })
})

describe('an external issuer of machines', () => {
  test('scopes may be an array or a string, and the type of the token does not matter', async () => {
    const expected = { kind: 'client', clientId: 'svc-1', name: 'svc-1' }
    expect(await server.identity.verifyToken(await machines.token(machine))).toEqual(expected)
    const asText = machines.token({ ...machine, scope: 'openid machine2machine' })
    expect(await server.identity.verifyToken(await asText)).toEqual(expected)
  })

  test('the scope is demanded', async () => {
    for (const scope of [undefined, [], 'openid', 'machine2machine2', 7, { machine2machine: true }]) {
      expect(await codeOf(machines.token({ ...machine, scope }))).toBe('401 token_claim_invalid')
    }
  })

  test('its tokens are never people, whatever claims they carry', async () => {
    const dressedUp = await machines.token({ ...machine, ...person, token_use: 'user', client_id: 'svc-1' })
    expect(await server.identity.verifyToken(dressedUp)).toMatchObject({ kind: 'client', clientId: 'svc-1' })
    expect(await codeOf(machines.token({ ...person }))).toBe('401 token_claim_invalid')
  })

  test('a key of one issuer does not sign for the other', async () => {
    expect(await codeOf(machines.token({ ...person, iss: people.issuer }))).toMatch(
      /^401 token_(key_unknown|signature_invalid)$/,
    )
  })

  test('the embedded token endpoint is gone', async () => {
    expect((await server.call('POST', `${REALM}/access_token`, { unchecked: true })).status).toBe(404)
  })
})

describe('the configuration', () => {
  const start = (env: Record<string, string>) => startIdentityServer(database.url, { env })

  test('demands an audience for people', async () => {
    await expect(start({ ATRIUM_USER_ISSUER: 'https://id.test' })).rejects.toThrow('ATRIUM_USER_AUDIENCE')
  })

  test('refuses one issuer for both where the audience cannot tell them apart', async () => {
    const both = { ATRIUM_USER_ISSUER: 'https://id.test', ATRIUM_M2M_ISSUER: 'https://id.test' }
    await expect(start({ ...both, ATRIUM_USER_AUDIENCE: 'a' })).rejects.toThrow('told apart')
    const same = { ...both, ATRIUM_USER_AUDIENCE: 'a,b', ATRIUM_M2M_AUDIENCE: 'b' }
    await expect(start(same)).rejects.toThrow('told apart')
  })

  test('one issuer for both is fine with audiences of their own; a token for both is for neither', async () => {
    await using shared = await start({
      ATRIUM_USER_ISSUER: people.issuer,
      ATRIUM_USER_JWKS_URL: people.jwksUrl,
      ATRIUM_USER_AUDIENCE: 'console',
      ATRIUM_M2M_ISSUER: people.issuer,
      ATRIUM_M2M_JWKS_URL: people.jwksUrl,
      ATRIUM_M2M_AUDIENCE: 'api',
    })
    const verify = async (claims: object) => shared.identity.verifyToken(await people.token({ ...claims }))
    expect(await verify({ sub: 'a', aud: 'console' })).toMatchObject({ kind: 'user', qxId: 'a' })
    expect(await verify({ ...machine, aud: 'api' })).toMatchObject({ kind: 'client', clientId: 'svc-1' })
    const forBoth = verify({ ...machine, aud: ['api', 'console'] })
    await expect(forBoth).rejects.toMatchObject({ code: 'token_audience_wrong' })
  })
})

describe('the keys of an issuer', () => {
  const log = createLogger({ level: 'silent' })
  const times = { timeout: 300, fresh: 50, stale: 1200, cooldown: 100 }
  const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

  async function withKeys(
    run: (issuer: typeof people, ask: (kid?: string) => Promise<string>) => Promise<void>,
  ): Promise<void> {
    await using issuer = await startIssuerServer()
    const jwks = createRemoteJwks({ discoveryUrl: issuer.discoveryUrl, jwksUrl: undefined, log, times })
    await run(issuer, (kid = 'k1') =>
      Promise.resolve(jwks.getKey({ alg: 'RS256', kid }, { payload: '', signature: '' })).then(
        () => 'found',
        (error: { code: string }) => error.code,
      ),
    )
    await jwks.close()
  }

  test('are fetched once for many', () =>
    withKeys(async (issuer, ask) => {
      expect(new Set(await Promise.all(Array.from({ length: 50 }, () => ask())))).toEqual(new Set(['found']))
      expect(issuer.requests).toEqual(['/realms/staff/.well-known/openid-configuration', '/keys'])
    }))

  test('are fetched again for a new key, but not for each unknown one', () =>
    withKeys(async (issuer, ask) => {
      await ask()
      await issuer.addKey('k2', 'RS256')
      await pause(110)
      expect(await ask('k2')).toBe('found')
      const before = issuer.requests.length
      await Promise.all(Array.from({ length: 100 }, (_, i) => ask(`unknown-${i}`)))
      expect(issuer.requests.length - before).toBeLessThanOrEqual(2)
    }))

  test('that were withdrawn are forgotten', () =>
    withKeys(async (issuer, ask) => {
      expect(await ask()).toBe('found')
      await issuer.addKey('k2', 'RS256')
      issuer.removeKey('k1')
      await pause(110)
      await ask()
      await pause(50)
      expect(await ask()).toBe('ERR_JWKS_NO_MATCHING_KEY')
    }))

  test.concurrent.each(['error', 'huge', 'hang', 'nonsense', 'elsewhere'] as const)(
    'cannot be had (%s): known ones go on for a while, then nobody is let in',
    (fault) =>
      withKeys(async (issuer, ask) => {
        expect(await ask()).toBe('found')
        issuer.state.respond = fault
        await pause(110)
        expect(await ask()).toBe('found')
        await pause(1300)
        expect(await ask()).toBe('issuer_unavailable')
        issuer.state.respond = 'well'
        await pause(110)
        expect(await ask()).toBe('found')
      }),
  )
})
