import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestDatabase, eventually, grant, startIdentityServer } from './identity-server.ts'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let server: Awaited<ReturnType<typeof startIdentityServer>>

beforeAll(async () => {
  database = await createTestDatabase()
  server = await startIdentityServer(database.url, { env: { ATRIUM_CLIENT_TOKEN_LIFETIME: '120' } })
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

describe('clients', () => {
  test('a registration has no secret until it is approved', async () => {
    const { clients } = server.identity
    const { clientId, secret } = await clients.create({ name: 'Registered', status: 'In Progress' })
    expect(secret).toBeUndefined()
    const approved = await clients.approve(clientId)
    await eventually(
      async () => (await server.postForm('/access_token', grant(clientId, approved.secret))).status === 200,
    )
    await expect(clients.approve(clientId)).rejects.toMatchObject({ status: 409 })
  })

  test('may be disabled and enabled, but never go back to registration', async () => {
    const { clients } = server.identity
    const { clientId } = await clients.create({ name: 'States', status: 'Active' })
    expect(await clients.update(clientId, { status: 'Disabled' })).toMatchObject({
      status: 'Disabled',
      version: 2,
    })
    expect(await clients.update(clientId, { status: 'Active' })).toMatchObject({
      status: 'Active',
      version: 3,
    })
    await expect(clients.update(clientId, { status: 'In Progress' })).rejects.toMatchObject({ status: 409 })
  })

  test('are changed at the version that was read', async () => {
    const { clients } = server.identity
    const { clientId } = await clients.create({ name: 'Versions', status: 'Active' })
    await clients.update(clientId, { name: 'First' }, [1])
    await expect(clients.update(clientId, { name: 'Second' }, [1])).rejects.toMatchObject({ status: 412 })
    expect(await clients.find(clientId)).toMatchObject({ name: 'First', tokenLifetimeSeconds: 120 })
  })

  test('bad values are refused by name', async () => {
    const { clients } = server.identity
    const bad = [
      [{ clientId: 'with space' }, 'clientId'],
      [{ clientId: 'x'.repeat(129) }, 'clientId'],
      [{ clientId: '' }, 'clientId'],
      [{ name: ' ' }, 'name'],
      [{ name: 'a\0b' }, 'name'],
      [{ secret: 'short' }, 'secret'],
      [{ secret: 'ünïcode-secret-of-some-length' }, 'secret'],
      [{ tokenLifetimeSeconds: 59 }, 'tokenLifetimeSeconds'],
      [{ tokenLifetimeSeconds: 86_401 }, 'tokenLifetimeSeconds'],
    ] as const
    for (const [change, field] of bad) {
      const made = clients.create({ name: 'Bad', status: 'Active', ...change })
      await expect(made).rejects.toMatchObject({ status: 400, field })
    }
    await expect(clients.rotateSecret('nobody', 0)).rejects.toMatchObject({ status: 404 })
    await expect(clients.update('nobody', {})).rejects.toMatchObject({ status: 404 })
    expect(await clients.find('nobody')).toBeUndefined()
    expect(await clients.remove('nobody')).toBe(false)
  })

  test('an id is taken once', async () => {
    const { clients } = server.identity
    const make = () => clients.create({ clientId: 'taken', name: 'Taken', status: 'Active' })
    const results = await Promise.allSettled([make(), make()])
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  })

  test('put may run twice, and the last secret counts', async () => {
    const { clients } = server.identity
    const put = (secret: string) => clients.put({ clientId: 'put', name: 'Put', status: 'Active', secret })
    await put('the-first-secret-of-put')
    await put('the-second-secret-of-put')
    await eventually(
      async () =>
        (await server.postForm('/access_token', grant('put', 'the-second-secret-of-put'))).status === 200,
    )
    expect((await server.postForm('/access_token', grant('put', 'the-first-secret-of-put'))).status).toBe(401)
    expect((await clients.list()).filter(({ clientId }) => clientId === 'put')).toHaveLength(1)
  })
})

describe('accounts', () => {
  test('keep an argon2id hash of the password, and check it', async () => {
    const { accounts } = server.identity
    expect(await accounts.any()).toBe(false)
    await accounts.create({ qxId: 'qx1', name: 'Ada Lovelace', password: 'analytical engine' })
    expect(await accounts.any()).toBe(true)
    const { rows } = await database.pool.query('select password_hash from identity.accounts')
    expect(rows[0].password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(await accounts.verifyPassword('qx1', 'analytical engine')).toMatchObject({ name: 'Ada Lovelace' })
    expect(await accounts.verifyPassword('qx1', 'difference engine')).toBeUndefined()
    expect(await accounts.find('qx1')).toMatchObject({ qxId: 'qx1', mailAddress: '', version: 1 })
  })

  test('change their password', async () => {
    const { accounts } = server.identity
    await accounts.create({ qxId: 'qx2', name: 'Alan', password: 'the first one', mailAddress: 'a@b.test' })
    await accounts.setPassword('qx2', 'the second one')
    expect(await accounts.verifyPassword('qx2', 'the first one')).toBeUndefined()
    expect(await accounts.verifyPassword('qx2', 'the second one')).toMatchObject({ version: 2 })
    await expect(accounts.setPassword('nobody', 'long enough')).rejects.toMatchObject({ status: 404 })
  })

  test('bad values and a second account of one id are refused', async () => {
    const { accounts } = server.identity
    const create = (qxId: string, password: string) => accounts.create({ qxId, name: 'X', password })
    await expect(create('qx3', 'short')).rejects.toMatchObject({ status: 400, field: 'password' })
    await expect(create('qx3', 'x'.repeat(257))).rejects.toMatchObject({ status: 400, field: 'password' })
    for (const qxId of ['', ' ', 'a\0b', ' padded', 'in ner', 'a/b', 'x'.repeat(129)]) {
      await expect(create(qxId, 'long enough')).rejects.toMatchObject({ status: 400, field: 'qxId' })
    }
    await create('qx3', 'long enough')
    await expect(create('qx3', 'long enough')).rejects.toMatchObject({ status: 409 })
  })

  // A machine that is busy with something else now and then may need another go.
  test('an unknown account takes as long as a wrong password', { retry: 5 }, async () => {
    const { accounts } = server.identity
    const time = async (qxId: string) => {
      const start = performance.now()
      for (let i = 0; i < 5; i++)
        expect(await accounts.verifyPassword(qxId, 'not the password')).toBeUndefined()
      return performance.now() - start
    }
    await time('nobody')
    const ratio = (await time('nobody')) / (await time('qx1'))
    expect(ratio).toBeGreaterThan(0.25)
    expect(ratio).toBeLessThan(4)
    expect(await accounts.verifyPassword('a\0b', 'x'.repeat(8))).toBeUndefined()
    expect(await accounts.verifyPassword('qx1', 'x'.repeat(1_000_000))).toBeUndefined()
  })
})
