import { createHmac, createPrivateKey } from 'node:crypto'
import { createMasterKey } from '@atrium/kernel/crypto'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { createTestDatabase, eventually, MASTER_KEY, REALM, startIdentityServer } from './identity-server.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let server: Awaited<ReturnType<typeof startIdentityServer>>
let kid: string
let signingKey: ReturnType<typeof createPrivateKey>
let publicJwk: Record<string, string>

beforeAll(async () => {
  database = await createTestDatabase()
  server = await startIdentityServer(database.url)
  const { rows } = await database.pool.query('select * from identity.signing_keys')
  kid = rows[0].kid
  publicJwk = rows[0].public_jwk
  const opened = createMasterKey(MASTER_KEY).open(`identity/signing-key/${kid}`, rows[0].sealed_private_jwk)
  signingKey = createPrivateKey({ key: JSON.parse(opened), format: 'jwk' })
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

const now = (): number => Math.floor(Date.now() / 1000)
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** Claims to put in place of the good ones; undefined takes one away. */
type Change = Record<string, unknown>

const goodClaims = () => ({
  iss: `${server.url}/auth/oauth2/realms/root/realms/people`,
  aud: server.url,
  sub: 'qx1',
  qxId: 'qx1',
  name: 'Ada',
  token_use: 'user',
  iat: now(),
  exp: now() + 600,
})

/** A token signed by the real key, so that only what the test changes can be the reason of a refusal. */
const signed = (change: Change = {}, header: Record<string, unknown> = {}): Promise<string> =>
  new SignJWT({ ...goodClaims(), ...change })
    .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid, ...header })
    .sign(signingKey)

const codeOf = (token: string): Promise<string> =>
  server.identity.verifyToken(token).then(
    () => 'accepted',
    (error: { status: number; code: string }) => `${error.status} ${error.code}`,
  )

/** The same token with another header; its signature no longer fits. */
const withHeader = (token: string, header: object): string =>
  [encode(header), ...token.split('.').slice(1)].join('.')

describe('a user token', () => {
  test('minted here names the person', async () => {
    const token = await server.identity.mintUserToken({ qxId: 'qx7', name: 'Grace Hopper' })
    expect(await server.identity.verifyToken(token)).toEqual({
      kind: 'user',
      qxId: 'qx7',
      name: 'Grace Hopper',
    })
  })

  test('may have any lifetime up to a day', async () => {
    const mint = (lifetimeSeconds: number) => server.identity.mintUserToken({ qxId: 'qx7', lifetimeSeconds })
    await expect(mint(0)).rejects.toMatchObject({ status: 400 })
    await expect(mint(86_401)).rejects.toMatchObject({ status: 400 })
    expect(await codeOf(await mint(86_400))).toBe('accepted')
  })

  test('is told apart from the control token of these tests only by what they change', async () => {
    expect(await codeOf(await signed())).toBe('accepted')
  })
})

describe('refused', () => {
  const claimTests: [string, () => Change, string][] = [
    ['expired', () => ({ exp: now() - 60 }), '401 token_expired'],
    ['not yet valid', () => ({ nbf: now() + 600 }), '401 token_not_yet_valid'],
    ['wrong audience', () => ({ aud: 'https://elsewhere.test' }), '401 token_audience_wrong'],
    ['wrong audiences', () => ({ aud: ['a', 'b'] }), '401 token_audience_wrong'],
    ['no audience', () => ({ aud: undefined }), '401 token_audience_wrong'],
    ['unknown issuer', () => ({ iss: 'https://elsewhere.test' }), '401 token_issuer_unknown'],
    ['no issuer', () => ({ iss: undefined }), '401 token_issuer_unknown'],
    ['no expiry', () => ({ exp: undefined }), '401 token_claim_invalid'],
    ['an expiry that is text', () => ({ exp: '9999999999' }), '401 token_claim_invalid'],
    ['no qxId', () => ({ qxId: undefined }), '401 token_claim_invalid'],
    ['a qxId with NUL', () => ({ qxId: 'a\0b' }), '401 token_claim_invalid'],
    ['a qxId that is an object', () => ({ qxId: { $ne: 1 } }), '401 token_claim_invalid'],
    [
      'a machine’s token under the people’s issuer',
      () => ({ token_use: 'client' }),
      '401 token_claim_invalid',
    ],
    [
      'a person’s token under the machines’ issuer',
      () => ({ iss: `${server.url}${REALM}` }),
      '401 token_claim_invalid',
    ],
    [
      'an unknown client',
      () => ({ iss: `${server.url}${REALM}`, token_use: 'client', sub: 'nobody' }),
      '401 token_client_inactive',
    ],
  ]
  test.each(claimTests)('%s', async (_name, change, code) => {
    expect(await codeOf(await signed(change()))).toBe(code)
  })

  test('a changed signature, payload or header', async () => {
    const token = await signed()
    const [header, , signature] = token.split('.')
    const other = `${header}.${encode({ ...goodClaims(), qxId: 'admin' })}.${signature}`
    expect(await codeOf(other)).toBe('401 token_signature_invalid')
    const flipped = token.slice(0, -10) + (token.at(-10) === 'A' ? 'B' : 'A') + token.slice(-9)
    expect(await codeOf(flipped)).toBe('401 token_signature_invalid')
    expect(await codeOf(token.slice(0, token.lastIndexOf('.') + 1))).toMatch(
      /^401 token_(signature_invalid|malformed)$/,
    )
  })

  test('alg none, in any spelling', async () => {
    const token = await signed()
    for (const alg of ['none', 'None', 'NONE', '']) {
      const unsigned = withHeader(token, { alg, typ: 'at+jwt', kid })
      expect(await codeOf(unsigned)).toBe('401 token_algorithm_not_allowed')
      expect(await codeOf(unsigned.slice(0, unsigned.lastIndexOf('.') + 1))).toBe(
        '401 token_algorithm_not_allowed',
      )
    }
  })

  test('HMAC with the public key as secret', async () => {
    const body = `${encode({ alg: 'HS256', typ: 'at+jwt', kid })}.${encode(goodClaims())}`
    for (const secret of [JSON.stringify(publicJwk), publicJwk.x ?? '']) {
      const mac = createHmac('sha256', secret).update(body).digest('base64url')
      expect(await codeOf(`${body}.${mac}`)).toBe('401 token_algorithm_not_allowed')
    }
  })

  test('another algorithm than the key’s', async () => {
    for (const alg of ['RS256', 'ES384', 'EdDSA', 'PS256', 'A128KW', 'dir']) {
      expect(await codeOf(withHeader(await signed(), { alg, kid }))).toBe('401 token_algorithm_not_allowed')
    }
  })

  test('key ids that are not ours, whatever they look like', async () => {
    const kids = [
      '',
      'x',
      '../../etc/passwd',
      "' or 1=1 --",
      'a\0b',
      '__proto__',
      'k'.repeat(4000),
      7,
      null,
      { a: 1 },
    ]
    for (const other of kids) {
      const code = await codeOf(withHeader(await signed(), { alg: 'ES256', typ: 'at+jwt', kid: other }))
      expect(code).toMatch(/^401 token_(key_unknown|malformed)$/)
    }
    expect(await codeOf(withHeader(await signed(), { alg: 'ES256', typ: 'at+jwt' }))).toBe(
      '401 token_key_unknown',
    )
  })

  test('a key that the token brings along', async () => {
    const own = await generateKeyPair('ES256', { extractable: true })
    const jwk = await exportJWK(own.publicKey)
    const token = await new SignJWT(goodClaims())
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', jwk, jku: 'https://evil.test/jwks', kid })
      .sign(own.privateKey)
    expect(await codeOf(token)).toBe('401 token_signature_invalid')
  })

  test('a header with critical extensions, or of another type', async () => {
    const token = await signed()
    const critical = withHeader(token, { alg: 'ES256', typ: 'at+jwt', kid, crit: ['b64'], b64: false })
    expect(await codeOf(critical)).toMatch(/^401 token_(malformed|signature_invalid)$/)
    expect(await codeOf(await signed({}, { typ: 'JWT' }))).toBe('401 token_claim_invalid')
  })

  test('what is no token at all', async () => {
    const deep = `${'['.repeat(2000)}${']'.repeat(2000)}`
    const texts = [
      '',
      'x',
      'a.b',
      'a.b.c',
      '..',
      '...',
      'a.b.c.d.e',
      '\0.\0.\0',
      'é.é.é',
      `${encode({})}.${Buffer.from(deep).toString('base64url')}.x`,
    ]
    for (const text of texts) expect(await codeOf(text)).toBe('401 token_malformed')
  })

  test('a huge one, unread', async () => {
    expect(await codeOf('x'.repeat(10_000_000))).toBe('401 token_malformed')
    expect(await codeOf(await signed({ more: 'x'.repeat(9000) }))).toBe('401 token_malformed')
  })

  test('with a sentence and a challenge, and without its content in either', async () => {
    const error = await server.identity.verifyToken(await signed({ exp: now() - 60 })).catch((cause) => cause)
    expect(error.message).toBe('The token has expired')
    expect(error.headers['www-authenticate']).toBe(
      'Bearer error="invalid_token", error_description="The token has expired"',
    )
  })
})

describe('a token that was good', () => {
  test('expires also in the cache', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const token = await signed({ exp: now() + 60 })
    expect(await codeOf(token)).toBe('accepted')
    const pass = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1000)
    pass(63)
    expect(await codeOf(token)).toBe('accepted')
    pass(3)
    expect(await codeOf(token)).toBe('401 token_expired')
  })

  test('asks the database once each 0.8 s and caller, however many tokens and uses there are', async () => {
    const { clientId, secret } = await server.identity.clients.create({ name: 'Busy', status: 'Active' })
    const mint = (): Promise<string> => server.identity.mintUserToken({ qxId: 'qx-busy' })
    const ofPerson = await Promise.all(Array.from({ length: 20 }, mint))
    const ofClient = await Promise.all(Array.from({ length: 20 }, () => server.token(clientId, secret)))
    for (const tokens of [ofPerson, ofClient]) {
      for (const token of tokens) expect(await codeOf(token)).toBe('accepted')
      const [begun, before] = [performance.now(), server.databaseUses()]
      for (let n = 0; n < 20_000; n++) await server.identity.verifyToken(tokens[n % tokens.length] ?? '')
      const most = 2 + (performance.now() - begun) / 800
      expect(server.databaseUses() - before).toBeLessThanOrEqual(most)
    }
  })

  test('ends when the public address changes, which names issuer and audience', async () => {
    const token = await signed({})
    expect(await codeOf(token)).toBe('accepted')
    await using moved = await startIdentityServer(database.url)
    await expect(moved.identity.verifyToken(token)).rejects.toMatchObject({ status: 401 })
    const again = await moved.identity.mintUserToken({ qxId: 'qx1' })
    await expect(moved.identity.verifyToken(again)).resolves.toMatchObject({ qxId: 'qx1' })
  })

  test('stops working within a second of its client’s end, in every process', async () => {
    await using second = await startIdentityServer(database.url, { publicUrl: server.url })
    for (const end of ['disable', 'remove'] as const) {
      const { clientId, secret } = await server.identity.clients.create({ name: 'Ending', status: 'Active' })
      const token = await server.token(clientId, secret)
      const refusedBy = (process: typeof server) =>
        process.identity.verifyToken(token).then(
          () => false,
          (error) => error.code === 'token_client_inactive',
        )
      expect(await refusedBy(server)).toBe(false)
      expect(await refusedBy(second)).toBe(false)
      if (end === 'disable') await server.identity.clients.update(clientId, { status: 'Disabled' })
      else await server.identity.clients.remove(clientId)
      await Promise.all([eventually(() => refusedBy(server)), eventually(() => refusedBy(second))])
      const answer = await second.postForm('/access_token', {
        grant_type: 'client_credentials',
        scope: 'machine2machine',
        client_id: clientId,
        client_secret: secret,
      })
      expect(answer.status).toBe(401)
    }
  })

  test('also when the announcement is lost', async () => {
    const { clientId, secret } = await server.identity.clients.create({ name: 'Quiet', status: 'Active' })
    const token = await server.token(clientId, secret)
    expect(await codeOf(token)).toBe('accepted')
    await database.pool.query(`update identity.clients set status = 'Disabled' where client_id = $1`, [
      clientId,
    ])
    await eventually(async () => (await codeOf(token)) === '401 token_client_inactive')
  })
})
