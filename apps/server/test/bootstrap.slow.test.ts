import { createServer } from 'node:http'
import { createCaller, freePort, observe } from '@atrium/testing'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { firstCredentialLines } from '../src/commands/first-credentials.ts'
import { parseConfig } from '../src/config.ts'
import { startPlatform } from '../src/platform.ts'

/** An OpenID provider of somebody else's: anyone may be called `admin` there. */
async function startIssuer() {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const jwks = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: 'k', alg: 'ES256' }] })
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end(jwks)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  const token = (claims: Record<string, unknown>) =>
    new SignJWT({ iss: url, ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'k' })
      .setIssuedAt()
      .setExpirationTime('10m')
      .sign(privateKey)
  return {
    url,
    person: (name: string) => token({ aud: 'people', sub: `s-${name}`, preferred_username: name }),
    machine: (clientId: string) => token({ aud: 'machines', client_id: clientId, scope: 'machine2machine' }),
    close: () => new Promise((resolve) => server.close(resolve).closeAllConnections()),
  }
}

let issuer: Awaited<ReturnType<typeof startIssuer>>
const databases: string[] = []

async function onServer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: new URL('/postgres', inject('databaseAdminUrl')).href })
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

/** A new, empty database. */
async function emptyDatabase(): Promise<string> {
  const name = `bootstrap_${process.pid}_${Math.random().toString(36).slice(2, 10)}`
  await onServer(`CREATE DATABASE ${name}`)
  databases.push(name)
  return new URL(`/${name}`, inject('databaseAdminUrl')).href
}

beforeAll(async () => {
  issuer = await startIssuer()
})
afterAll(async () => {
  await issuer?.close()
  for (const name of databases) await onServer(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
})

const externalPeople = () => ({
  ATRIUM_USER_ISSUER: issuer.url,
  ATRIUM_USER_JWKS_URL: issuer.url,
  ATRIUM_USER_AUDIENCE: 'people',
  ATRIUM_QXID_CLAIM: 'preferred_username',
})
const externalMachines = () => ({
  ATRIUM_M2M_ISSUER: issuer.url,
  ATRIUM_M2M_JWKS_URL: issuer.url,
  ATRIUM_M2M_AUDIENCE: 'machines',
})

/** One start: what it prints of its credentials, and whether a token may do what superusers do. */
async function start(databaseUrl: string, env: Record<string, string>) {
  const config = parseConfig({
    ATRIUM_LOG_LEVEL: 'silent',
    ATRIUM_PROBE_LOCAL_MODELS: 'false',
    ATRIUM_BACKGROUND_JOBS: 'false',
    ATRIUM_MASTER_KEY: Buffer.alloc(32, 5).toString('base64'),
    ATRIUM_PORT: String(await freePort()),
    ...env,
  })
  const platform = await startPlatform(config, { databaseUrl })
  const call = createCaller(platform.url, observe)
  return {
    platform,
    call,
    printed: firstCredentialLines(platform.firstCredentials, config).join('\n'),
    async createsSpace(token: string): Promise<number> {
      const body = { spaceName: 'taken over', appId: 'APP-1' }
      return (await call('POST', '/portal/v1/spaces', { token, body, unchecked: true })).status
    },
    async clientToken(clientId: string, secret: string): Promise<string> {
      const answer = await call('POST', '/auth/oauth2/realms/root/realms/machine2machine/access_token', {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: `grant_type=client_credentials&scope=machine2machine&client_id=${clientId}&client_secret=${secret}`,
        unchecked: true,
      })
      return answer.body.access_token
    },
    [Symbol.asyncDispose]: () => platform.close(),
  }
}

const printedSecret = (printed: string): string => /client secret {2}(\S+)/.exec(printed)?.[1] ?? ''

describe('the first start', () => {
  test('makes nobody of an external issuer superuser, whatever they are called, but Atrium’s own client', async () => {
    const database = await emptyDatabase()
    await using first = await start(database, externalPeople())
    expect(await first.createsSpace(await issuer.person('admin'))).toBe(403)
    expect(first.printed).not.toContain('password')
    expect(first.printed).toContain(`People sign in at ${issuer.url}: nobody of them is superuser yet.`)
    const token = await first.clientToken('atrium-admin', printedSecret(first.printed))
    expect(await first.createsSpace(token)).toBe(201)
    // The first start is over: a name that comes later is nobody's way in.
    await using second = await start(database, { ...externalPeople(), ATRIUM_BOOTSTRAP_USER: 'late' })
    expect(second.printed).toBe('')
    expect(await second.createsSpace(await issuer.person('late'))).toBe(403)
  })

  test('leaves the accounts of people to the external issuer', async () => {
    await using first = await start(await emptyDatabase(), externalPeople())
    const token = await first.clientToken('atrium-admin', printedSecret(first.printed))
    const path = '/auth/v1/admin/accounts'
    for (const answer of [
      await first.call('GET', path, { token }),
      await first.call('POST', path, { token, body: { qxId: 'qx-own', name: 'N' } }),
      await first.call('GET', `${path}/qx-own`, { token }),
      await first.call('PATCH', `${path}/qx-own`, { token, body: { name: 'M' } }),
      await first.call('POST', `${path}/qx-own:reset-password`, { token }),
    ]) {
      expect([answer.status, answer.body.error]).toEqual([409, 'external_issuer'])
      expect(answer.body.error_description).toContain(issuer.url)
    }
  }, 30_000)

  test('waits for a name where all callers come from elsewhere, and prints no secret that nobody can use', async () => {
    const database = await emptyDatabase()
    const external = { ...externalPeople(), ...externalMachines() }
    await using nobody = await start(database, external)
    expect(nobody.printed).toContain('There is no superuser yet: set ATRIUM_BOOTSTRAP_USER')
    expect(await nobody.createsSpace(await issuer.person('admin'))).toBe(403)
    expect(await nobody.createsSpace(await issuer.machine('atrium-admin'))).toBe(403)
    const named = { ATRIUM_BOOTSTRAP_USER: 'grace', ATRIUM_BOOTSTRAP_CLIENT_ID: 'ops' }
    await using first = await start(database, { ...external, ...named })
    expect(first.printed.split('\n').slice(2, 6)).toEqual([
      '  user           grace',
      `  password       (from ${issuer.url})`,
      '  client id      ops',
      `  client secret  (from ${issuer.url})`,
    ])
    expect(await first.createsSpace(await issuer.person('grace'))).toBe(201)
    expect(await first.createsSpace(await issuer.machine('ops'))).toBe(201)
    expect(await first.createsSpace(await issuer.person('admin'))).toBe(403)
    expect(await first.createsSpace(await issuer.machine('atrium-admin'))).toBe(403)
  })

  test('makes both where both are Atrium’s own, once; the reverse mixture has a user alone', async () => {
    const database = await emptyDatabase()
    await using first = await start(database, {})
    expect(first.platform.firstCredentials).toEqual({
      user: { id: 'admin', issuer: undefined, secret: expect.stringMatching(/^[\w-]{24}$/) },
      client: { id: 'atrium-admin', issuer: undefined, secret: expect.stringMatching(/^[\w-]{43}$/) },
    })
    await using again = await start(database, {})
    expect(again.platform.firstCredentials).toBeUndefined()
    await using reverse = await start(await emptyDatabase(), externalMachines())
    expect(reverse.printed).toMatch(/user {11}admin\n {2}password {7}[\w-]{24}/)
    expect(reverse.printed).not.toContain('client')
    expect(await reverse.createsSpace(await issuer.machine('atrium-admin'))).toBe(403)
  })

  test.each([
    [{ ATRIUM_BOOTSTRAP_USER: 'same', ATRIUM_BOOTSTRAP_CLIENT_ID: 'same' }, 'same is the id of a machine'],
    [{ ATRIUM_BOOTSTRAP_PASSWORD: 'short' }, 'password must have 8 to 256 characters'],
  ])('says in one sentence what %j lacks', async (env, reason) => {
    await expect(start(await emptyDatabase(), env)).rejects.toMatchObject({
      name: 'OperatorError',
      message: expect.stringContaining(reason),
    })
  })
})
