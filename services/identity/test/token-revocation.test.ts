import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { basic, createTestDatabase, eventually, REALM, startIdentityServer } from './identity-server.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let server: Awaited<ReturnType<typeof startIdentityServer>>
let second: Awaited<ReturnType<typeof startIdentityServer>>

beforeAll(async () => {
  database = await createTestDatabase()
  server = await startIdentityServer(database.url)
  second = await startIdentityServer(database.url, { publicUrl: server.url })
})

afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

async function newClient() {
  const { clientId, secret } = await server.identity.clients.create({ name: 'Client', status: 'Active' })
  return { clientId, secret, token: () => server.token(clientId, secret) }
}

const codeIn = (process: typeof server, token: string): Promise<string> =>
  process.identity.verifyToken(token).then(
    () => 'accepted',
    (error: { code: string }) => error.code,
  )
const revoke = (client: { clientId: string; secret: string }, token: string, at = server) =>
  at.postForm('/token/revoke', { token, client_id: client.clientId, client_secret: client.secret })
const introspect = async (client: { clientId: string; secret: string }, token: string, at = server) =>
  (await at.postForm('/introspect', { token }, basic(client.clientId, client.secret))).body

describe('revoking a machine token', () => {
  test('ends it in every process within a second, and no other', async () => {
    const client = await newClient()
    const [gone, kept] = [await client.token(), await client.token()]
    for (const process of [server, second]) {
      expect(await codeIn(process, gone)).toBe('accepted')
      expect(await introspect(client, gone, process)).toMatchObject({ active: true })
    }
    const answer = await revoke(client, gone)
    expect([answer.status, answer.body]).toEqual([200, ''])
    expect(await codeIn(server, gone)).toBe('token_revoked')
    expect(await introspect(client, gone)).toEqual({ active: false })
    await eventually(async () => (await codeIn(second, gone)) === 'token_revoked')
    expect(await introspect(client, gone, second)).toEqual({ active: false })
    for (const process of [server, second]) {
      expect(await codeIn(process, kept)).toBe('accepted')
      expect(await codeIn(process, kept)).toBe('accepted')
    }
    expect((await revoke(client, gone)).status).toBe(200)
  })

  test('holds without announcements, too', async () => {
    const client = await newClient()
    const token = await client.token()
    expect(await codeIn(second, token)).toBe('accepted')
    await second.identity.verifyToken(token)
    const { jti, exp } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
    await database.pool.query('insert into identity.revoked_tokens values ($1, to_timestamp($2))', [jti, exp])
    await database.pool.query(
      'update identity.clients set revocations_until = to_timestamp($2) where client_id = $1',
      [client.clientId, exp],
    )
    await eventually(async () => (await codeIn(second, token)) === 'token_revoked')
  })

  test('of another client does nothing, and says nothing', async () => {
    const [mine, theirs] = [await newClient(), await newClient()]
    const token = await theirs.token()
    for (const given of [token, 'nonsense', 'a.b.c', await server.identity.mintUserToken({ qxId: 'x' })]) {
      expect((await revoke(mine, given)).status).toBe(200)
    }
    expect(await codeIn(server, token)).toBe('accepted')
  })

  test('asks for the client’s own secret, and for a token', async () => {
    const client = await newClient()
    const token = await client.token()
    expect((await revoke({ ...client, secret: 'wrong-wrong-wrong-wrong' }, token)).status).toBe(401)
    expect((await server.postForm('/token/revoke', { token })).status).toBe(400)
    const credentials = { client_id: client.clientId, client_secret: client.secret }
    expect((await server.postForm('/token/revoke', credentials)).status).toBe(400)
    expect(await codeIn(server, token)).toBe('accepted')
  })

  test('stands in the discovery document', async () => {
    const { body } = await server.call('GET', `${REALM}/.well-known/openid-configuration`)
    expect(body.revocation_endpoint).toBe(`${server.url}${REALM}/token/revoke`)
  })
})
