import { parseEnv } from '@atrium/kernel/config'
import { createMasterKey } from '@atrium/kernel/crypto'
import { createDatabase, createPool } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import { beforeAll, describe, expect, it } from 'vitest'
import { workflowsEnv } from '../src/config.ts'
import { putSecret, secretValues } from '../src/domain/secrets.ts'
import type { WorkflowsTables } from '../src/queries/tables.ts'
import { workflowsSealed } from '../src/setup.ts'
import { createWorld, statusesOfOthers, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await createWorld()
})

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/
const VALUE = 'gh-0123456789-never-shown'
const write = (name: string, value: unknown, headers?: Record<string, string>) =>
  world.send('PUT', `secrets/${name}`, {
    token: world.space.ownerToken,
    body: { value },
    ...(headers === undefined ? {} : { headers }),
  })

describe('a secret', () => {
  it('is written by an owner (201, then 200), and told of without its value', async () => {
    const made = await write('GIT_TOKEN', VALUE)
    expect([made.status, made.body]).toEqual([
      201,
      {
        name: 'GIT_TOKEN',
        createdAt: expect.stringMatching(TIME),
        updatedAt: expect.stringMatching(TIME),
        updatedBy: expect.stringMatching(/^qx-owner-/),
      },
    ])
    const again = await write('GIT_TOKEN', VALUE)
    expect([again.status, again.body.createdAt]).toEqual([200, made.body.createdAt])
    expect((await world.send('GET', 'secrets/GIT_TOKEN')).body).toEqual(again.body)
    expect((await world.send('GET', 'secrets')).body).toEqual({ items: [again.body], totalCount: 1 })
    for (const options of [{}, { token: world.space.ownerToken }])
      expect(JSON.stringify((await world.send('GET', 'secrets/GIT_TOKEN', options)).body)).not.toContain(
        VALUE,
      )
  })

  it('is sealed in the database, and stands nowhere else', async () => {
    await write('SEALED', VALUE)
    const { rows } = await world.platform.pool.query(
      `SELECT encode(sealed, 'escape') AS sealed, secrets::text AS row FROM workflows.secrets WHERE space_id = $1`,
      [world.space.spaceId],
    )
    for (const row of rows) expect(`${row.sealed}${row.row}`).not.toContain(VALUE)
    const audit = await world.platform.pool.query(
      'SELECT audit_entries::text AS text FROM portal.audit_entries WHERE space_id = $1',
      [world.space.spaceId],
    )
    expect(audit.rows.length).toBeGreaterThan(0)
    for (const { text } of audit.rows) expect(text).not.toContain(VALUE)
  })

  it('is deleted by an owner', async () => {
    await write('GONE', VALUE)
    const token = world.space.ownerToken
    expect((await world.send('DELETE', 'secrets/GONE', { token })).status).toBe(204)
    for (const method of ['GET', 'DELETE']) {
      const gone = await world.send(method, 'secrets/GONE', { token })
      expect([gone.status, gone.body]).toEqual([404, { detail: 'Secret GONE not found' }])
    }
  })

  it('is neither written nor deleted by members, superusers, keys and strangers', async () => {
    await write('GUARDED', VALUE)
    const { platform, space } = world
    for (const method of ['PUT', 'DELETE']) {
      const body = method === 'PUT' ? { value: 'taken' } : undefined
      for (const token of [space.memberToken, platform.superuser.token, platform.superuserClient.token])
        expect((await world.send(method, 'secrets/GUARDED', { token, body })).status).toBe(403)
      expect(await statusesOfOthers(world, method, 'secrets/GUARDED', body)).toEqual([401, 401, 403])
    }
    for (const path of ['secrets', 'secrets/GUARDED'])
      expect(await statusesOfOthers(world, 'GET', path)).toEqual([401, 401, 403])
    expect((await world.send('GET', 'secrets/GUARDED')).headers.get('etag')).toBe('"1"')
  })

  it.each([
    ['a%20b', VALUE, /params\.name must be 1 to 128 letters/],
    ['.a', VALUE, /params\.name/],
    ['-a', VALUE, /params\.name/],
    ['a%7D', VALUE, /params\.name/],
    ['a'.repeat(129), VALUE, /params\.name/],
    ['A', '', /body\.value must have at least 4 characters/],
    ['A', 'abc', /body\.value must have at least 4 characters/],
    ['A', 5, /body\.value must be a string/],
    ['A', undefined, /body\.value is required/],
    ['A', 'x'.repeat(32_769), /body\.value must have at most 32768/],
    ['A', 'a\u0000b', /NUL/],
  ])('is refused as %s %j', async (name, value, detail) => {
    const answer = await write(name, value)
    expect([answer.status, answer.body.detail]).toEqual([400, expect.stringMatching(detail)])
    expect(answer.body.detail).not.toContain(VALUE)
  })

  it('is changed and deleted in a version of it alone, where one is named', async () => {
    const first = { 'if-match': (await write('TAGGED', VALUE)).headers.get('etag') ?? '' }
    expect((await write('TAGGED', 'another', first)).status).toBe(200)
    expect((await write('TAGGED', 'third', first)).status).toBe(412)
    expect((await write('NOTHING', 'third', first)).status).toBe(412)
    const token = world.space.ownerToken
    expect((await world.send('DELETE', 'secrets/TAGGED', { token, headers: first })).status).toBe(412)
    expect((await world.send('DELETE', 'secrets/NOTHING', { token, headers: first })).status).toBe(404)
  })

  it('is listed in the order of creation, whole or in parts', async () => {
    const own = await createWorld()
    for (const name of ['Z', 'B', 'Y']) await own.put(`secrets/${name}`, { value: 'value' })
    const names = async (query: string) => {
      const { status, body } = await own.send('GET', `secrets${query}`)
      return [status, body.items?.map(({ name }: { name: string }) => name), body.totalCount]
    }
    expect(await names('')).toEqual([200, ['Z', 'B', 'Y'], 3])
    expect(await names('?limit=2&page=2')).toEqual([200, ['Y'], 3])
    expect((await names('?limit=0'))[0]).toBe(400)
  })
})

describe('values of secrets', () => {
  it('open for tasks of their space, by name, under the master key that sealed them alone', async () => {
    const { databaseUrl } = world.platform
    const pool = createPool(databaseUrl, {
      max: 1,
      applicationName: 'test',
      log: createLogger({ level: 'silent' }),
    })
    try {
      const db = createDatabase<WorkflowsTables>(pool)
      const masterKey = createMasterKey(Buffer.alloc(32, 1))
      const act = {
        kind: 'user',
        qxId: 'q',
        name: 'n',
        operation: 'o',
        address: '',
        requestId: '',
        userAgent: '',
      } as const
      const ctx = { db, masterKey, audit: { record: async () => {} }, env: parseEnv(workflowsEnv, {}) }
      const own = await world.platform.space()
      const spaceId = own.spaceId.toUpperCase()
      await putSecret(ctx, spaceId, 'A', 'äöü', act, undefined)
      await putSecret(ctx, own.spaceId, 'B', 'b', act, undefined)
      const { open } = secretValues(ctx)
      expect(await open(own.spaceId, ['A', 'B', 'C'])).toEqual(
        new Map([
          ['A', 'äöü'],
          ['B', 'b'],
        ]),
      )
      expect(await open(world.space.spaceId, ['A'])).toEqual(new Map())
      expect(await open(own.spaceId, [])).toEqual(new Map())
      await pool.query(
        'UPDATE workflows.secrets a SET sealed = b.sealed FROM workflows.secrets b WHERE a.space_id = b.space_id AND a.space_id = $1 AND a.name = $2 AND b.name = $3',
        [own.spaceId, 'A', 'B'],
      )
      await expect(open(own.spaceId, ['A'])).rejects.toThrow()
      const { rows } = await pool.query(
        'SELECT secret_id, sealed FROM workflows.secrets WHERE space_id = $1 AND name = $2',
        [own.spaceId, 'B'],
      )
      const [column] = workflowsSealed
      expect(masterKey.open(column?.purposeOf(rows[0].secret_id) ?? '', rows[0].sealed)).toBe('b')
    } finally {
      await pool.end()
    }
  })
})
