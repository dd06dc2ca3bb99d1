import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createKeyFile, createMasterKey, newKeyLine, readKeyFile } from '@atrium/kernel/crypto'
import { cloneTemplate, startTestPlatform, TEST_CREDENTIALS } from '@atrium/testing'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { rotateMasterKey } from '../src/commands/rotate-master-key.ts'
import { sealedColumns } from '../src/sealed.ts'

const OLD = TEST_CREDENTIALS.ATRIUM_MASTER_KEY
const NEW = Buffer.alloc(32, 9).toString('base64')

let database: Awaited<ReturnType<typeof cloneTemplate>>
let pool: pg.Pool
let dataDir: string
beforeAll(async () => {
  database = await cloneTemplate(inject('databaseAdminUrl'))
  pool = new pg.Pool({ connectionString: database.ownerUrl, max: 2 })
  dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-key-'))
})
afterAll(async () => {
  await pool.end()
  await database.drop()
  await rm(dataDir, { recursive: true, force: true })
})

/** By no list of ours: every column of bytes that the services have. */
const HASHES = [
  // Of an address or a user name, and of the token in a mailed link: only ever compared.
  'identity.attempts.bucket',
  'identity.password_links.token_hash',
  'identity.client_secrets.hash',
  'portal.api_keys.key_hash',
  'portal.former_key_values.key_hash',
  // Of a webhook's secret, of a request and of a file: only ever compared.
  'workflows.triggers.secret_hash',
  'workflows.idempotency_keys.request_hash',
  'workflows.run_artifacts.sha256',
]

it('re-seals every column that is sealed: each column of bytes is in the list, or a hash', async () => {
  const { rows } = await pool.query<{ name: string }>(
    `SELECT table_schema || '.' || table_name || '.' || column_name AS name FROM information_schema.columns
      WHERE (data_type = 'bytea' OR column_name LIKE '%sealed%')
        AND table_schema NOT IN ('pg_catalog', 'information_schema', 'jobs') ORDER BY 1`,
  )
  const listed = sealedColumns.map(({ schema, table, column }) => `${schema}.${table}.${column}`)
  expect(rows.map(({ name }) => name).sort()).toEqual([...HASHES, ...listed].sort())
})

describe('a master key of the environment', () => {
  it('is exchanged while the platform runs, and what is outstanding stays good', async () => {
    const join = (env: Record<string, string>) =>
      startTestPlatform({ env: { DATABASE_URL: database.url, ...env } })
    // First every process accepts both, then the new one seals.
    await using before = await join({ ATRIUM_MASTER_KEY: OLD, ATRIUM_MASTER_KEY_PREVIOUS: NEW })
    const space = await before.space()
    const invitation = await before.call('POST', `/portal/v1/spaces/${space.spaceId}/invitations`, {
      token: before.superuser.token,
      body: { mailAddress: 'i@example.test', role: 'member' },
    })
    await using after = await join({ ATRIUM_MASTER_KEY: NEW, ATRIUM_MASTER_KEY_PREVIOUS: OLD })
    const env = { DATABASE_URL: database.url, ATRIUM_DATA_DIR: dataDir, ATRIUM_MASTER_KEY: NEW }
    await expect(rotateMasterKey(env, {})).rejects.toThrow('ATRIUM_MASTER_KEY_PREVIOUS')
    await rotateMasterKey({ ...env, ATRIUM_MASTER_KEY_PREVIOUS: OLD }, {})

    const { rows } = await pool.query('SELECT kid, sealed_private_jwk AS sealed FROM identity.signing_keys')
    for (const { kid, sealed } of rows) {
      const purpose = sealedColumns[0]?.purposeOf(kid) ?? ''
      expect(createMasterKey(Buffer.from(NEW, 'base64')).open(purpose, sealed)).toContain('"d"')
      expect(() => createMasterKey(Buffer.from(OLD, 'base64')).open(purpose, sealed)).toThrow()
    }
    for (const platform of [before, after]) {
      const token = await platform.userToken({ qxId: `qx-${platform.url.length}-reader` })
      expect((await platform.call('GET', '/portal/v1/spaces', { token })).status).toBe(200)
    }
    const invited = await after.userToken({ qxId: 'qx-invited-before' })
    const accepted = await after.call('POST', '/portal/v1/invitations:accept', {
      token: invited,
      body: { token: invitation.body.token },
    })
    expect(accepted.status).toBe(200)

    await before.close()
    await rotateMasterKey({ ...env, ATRIUM_MASTER_KEY_PREVIOUS: OLD }, { forget: true })
    // The old key is gone, and nothing misses it.
    await using alone = await join({ ATRIUM_MASTER_KEY: NEW })
    const key = { token: space.apiKey }
    expect((await alone.call('GET', `/portal/v1/spaces/${space.spaceId}`, key)).status).toBe(200)
    await expect(join({ ATRIUM_MASTER_KEY: OLD })).rejects.toThrow('master key')
  })
})

describe('a master key of the data folder', () => {
  it('is made anew; a run that was cut off is ended by the next, which makes no further key', async () => {
    const fresh = await cloneTemplate(inject('databaseAdminUrl'))
    const env = { DATABASE_URL: fresh.url, ATRIUM_DATA_DIR: dataDir }
    // As a run leaves it that was killed after it had made the key and before it had sealed anything with it.
    await createKeyFile(dataDir, [newKeyLine(), OLD])
    await expect(rotateMasterKey(env, { forget: true })).rejects.toThrow('still sealed')
    await rotateMasterKey(env, {})
    expect(readKeyFile(dataDir).lines).toHaveLength(2)
    await rotateMasterKey(env, {})
    expect(readKeyFile(dataDir).lines).toHaveLength(3)
    await rotateMasterKey(env, { forget: true })
    expect((await readFile(path.join(dataDir, 'master.key'), 'utf8')).trim().split('\n')).toHaveLength(1)
    const reader = new pg.Client({ connectionString: fresh.ownerUrl })
    await reader.connect()
    const { rows } = await reader.query(
      "SELECT operation FROM portal.audit_entries WHERE resource_type = 'masterKey' ORDER BY at",
    )
    expect(rows.map(({ operation }) => operation)).toEqual([
      'rotateMasterKey',
      'rotateMasterKey',
      'forgetMasterKeys',
    ])
    await reader.end()
    await fresh.drop()
  })
})
