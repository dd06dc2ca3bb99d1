import { decodeProtectedHeader } from 'jose'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createTestDatabase, eventually, REALM, startIdentityServer } from './identity-server.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>

beforeEach(async () => {
  database = await createTestDatabase()
})

afterEach(() => database[Symbol.asyncDispose]())

type Server = Awaited<ReturnType<typeof startIdentityServer>>

const kidOf = (token: string): string | undefined => decodeProtectedHeader(token).kid
const published = async (server: Server): Promise<string[]> => {
  const { body } = await server.call('GET', `${REALM}/connect/jwk_uri`)
  return body.keys.map(({ kid }: { kid: string }) => kid)
}

describe('signing keys', () => {
  test('two processes that start at once on an empty database have one', async () => {
    const servers = await Promise.all(Array.from({ length: 4 }, () => startIdentityServer(database.url)))
    const { rows } = await database.pool.query('select kid from identity.signing_keys')
    expect(rows).toHaveLength(1)
    for (const server of servers) {
      expect(await published(server)).toEqual([rows[0].kid])
      await server[Symbol.asyncDispose]()
    }
  })

  test('are sealed in the database', async () => {
    await using server = await startIdentityServer(database.url)
    const { rows } = await database.pool.query('select * from identity.signing_keys')
    expect(rows[0].public_jwk).not.toHaveProperty('d')
    expect(rows[0].sealed_private_jwk.toString('latin1')).not.toContain('"d"')
    expect(await published(server)).toHaveLength(1)
  })

  test('do not open with another master key: the start fails and says so', async () => {
    await using server = await startIdentityServer(database.url)
    expect(await published(server)).toHaveLength(1)
    const start = startIdentityServer(database.url, { masterKey: Buffer.alloc(32, 9) })
    await expect(start).rejects.toMatchObject({
      name: 'OperatorError',
      message: expect.stringContaining('ATRIUM_MASTER_KEY'),
    })
  })

  test('survive a restart, and so do the tokens', async () => {
    const first = await startIdentityServer(database.url)
    const token = await first.identity.mintUserToken({ qxId: 'qx1' })
    await first[Symbol.asyncDispose]()
    await using second = await startIdentityServer(database.url, { publicUrl: first.url })
    expect(await second.identity.verifyToken(token)).toMatchObject({ qxId: 'qx1' })
  })
})

describe('rotation', () => {
  test('publishes the new key before it signs', async () => {
    await using server = await startIdentityServer(database.url)
    const [old] = await published(server)
    const made = await server.identity.rotateKeys()
    expect(made.signsFrom.getTime()).toBeGreaterThan(Date.now() + 100_000)
    expect(await published(server)).toEqual([old, made.kid])
    expect(kidOf(await server.identity.mintUserToken({ qxId: 'qx1' }))).toBe(old)
  })

  test('keeps old tokens good and reaches other processes within a second', async () => {
    await using server = await startIdentityServer(database.url)
    await using second = await startIdentityServer(database.url, { publicUrl: server.url })
    const { clientId, secret } = await server.identity.clients.create({ name: 'Rotation', status: 'Active' })
    const before = await server.token(clientId, secret)
    const made = await server.identity.rotateKeys(0)
    const after = await server.token(clientId, secret)
    expect(kidOf(after)).toBe(made.kid)
    // The second process may not have heard yet: a key it has not seen makes it look.
    for (const token of [before, after]) {
      expect(await second.identity.verifyToken(token)).toMatchObject({ clientId })
      expect(await server.identity.verifyToken(token)).toMatchObject({ clientId })
    }
    await eventually(async () => kidOf(await second.token(clientId, secret)) === made.kid)
    expect(await published(second)).toContain(made.kid)
  })

  test('at once overtakes one that waits: the waiting key has signed nothing and goes', async () => {
    await using server = await startIdentityServer(database.url)
    const waiting = await server.identity.rotateKeys()
    const urgent = await server.identity.rotateKeys(0)
    expect(await published(server)).not.toContain(waiting.kid)
    expect(kidOf(await server.identity.mintUserToken({ qxId: 'qx1' }))).toBe(urgent.kid)
    const { rows } = await database.pool.query(
      'select kid from identity.signing_keys where retires_at is null',
    )
    expect(rows).toEqual([{ kid: urgent.kid }])
  })

  test('at once in two processes leaves one that signs, and all published', async () => {
    await using server = await startIdentityServer(database.url)
    await using second = await startIdentityServer(database.url, { publicUrl: server.url })
    await Promise.all([server.identity.rotateKeys(0), second.identity.rotateKeys(0)])
    await eventually(async () => (await published(server)).length === 3)
    await eventually(async () => (await published(second)).length === 3)
    const kids = await Promise.all(
      [server, second].map(({ identity }) => identity.mintUserToken({ qxId: 'a' })),
    )
    expect(kidOf(kids[0] ?? '')).toBe(kidOf(kids[1] ?? ''))
    const { rows } = await database.pool.query(
      'select kid from identity.signing_keys where retires_at is null',
    )
    expect(rows).toEqual([{ kid: kidOf(kids[0] ?? '') }])
  })

  test('withdraws a key that is past its time, with what it signed', async () => {
    await using server = await startIdentityServer(database.url)
    const token = await server.identity.mintUserToken({ qxId: 'qx1' })
    expect(await server.identity.verifyToken(token)).toMatchObject({ qxId: 'qx1' })
    await server.identity.rotateKeys(0)
    await database.pool.query(
      `update identity.signing_keys set retires_at = now() where retires_at is not null`,
    )
    await server.identity.rotateKeys(0)
    expect(await published(server)).not.toContain(kidOf(token))
    await expect(server.identity.verifyToken(token)).rejects.toMatchObject({ code: 'token_key_unknown' })
    const { rows } = await database.pool.query('select 1 from identity.signing_keys where kid = $1', [
      kidOf(token),
    ])
    expect(rows).toHaveLength(0)
  })

  test('by the job happens when the key is old enough, once', async () => {
    await using server = await startIdentityServer(database.url, { env: { ATRIUM_KEY_ROTATION_DAYS: '30' } })
    const [job] = server.identity.jobs
    const run = () => job?.run({}, new AbortController().signal)
    await run()
    expect(await published(server)).toHaveLength(1)
    await database.pool.query(`update identity.signing_keys set signs_from = now() - interval '31 days'`)
    await Promise.all([run(), run()])
    const { rows } = await database.pool.query(
      `select extract(epoch from retires_at - now())::float8 as left from identity.signing_keys order by signs_from`,
    )
    expect(rows).toHaveLength(2)
    expect(rows[0].left).toBeGreaterThan(86_400)
    expect(rows[1].left).toBeNull()
  })

  test('unknown key ids do not hammer the database', async () => {
    await using server = await startIdentityServer(database.url)
    const token = await server.identity.mintUserToken({ qxId: 'qx1' })
    const [, ...rest] = token.split('.')
    const forged = (i: number) =>
      [
        Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: `k${i}` })).toString('base64url'),
        ...rest,
      ].join('.')
    const reads = async () => {
      const { rows } = await database.pool.query(
        `select coalesce(sum(seq_scan), 0)::int as n from pg_stat_user_tables where relname = 'signing_keys'`,
      )
      return rows[0].n as number
    }
    const before = await reads()
    await Promise.all(
      Array.from({ length: 200 }, (_, i) => server.identity.verifyToken(forged(i)).catch(() => {})),
    )
    await new Promise((resolve) => setTimeout(resolve, 1200))
    expect((await reads()) - before).toBeLessThan(5)
  })
})
