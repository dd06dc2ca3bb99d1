import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import {
  createKeyFile,
  createMasterKey,
  type MasterKey,
  readKeyFile,
  type SealedColumn,
} from '@atrium/kernel/crypto'
import { cloneTemplate, TEST_CREDENTIALS } from '@atrium/testing'
import pg from 'pg'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { sealedColumns } from '../src/sealed.ts'

const OLD = TEST_CREDENTIALS.ATRIUM_MASTER_KEY
/** More than two transactions seal. */
const VALUES = 450
const SECRET = '{"d":"a private part"}'
const NAMES = Array.from({ length: 250 }, (_, nth) => `NAME_${String(nth).padStart(3, '0')}`)

let database: Awaited<ReturnType<typeof cloneTemplate>>
let pool: pg.Pool
let dataDir: string
beforeAll(async () => {
  database = await cloneTemplate(inject('databaseAdminUrl'))
  pool = new pg.Pool({ connectionString: database.ownerUrl, max: 4 })
  dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-rotate-'))
  await createKeyFile(dataDir, [OLD])
})
afterAll(async () => {
  await pool.end()
  await database.drop()
  await rm(dataDir, { recursive: true, force: true })
})

const columnOf = (table: string): SealedColumn => {
  const found = sealedColumns.find((column) => column.table === table)
  if (found === undefined) throw new Error(`nothing of ${table} is sealed`)
  return found
}
const purposeOf = columnOf('signing_keys').purposeOf
const secretOf = (name: string): string => `the value of ${name}`
const keyOf = (line: string | undefined): MasterKey => createMasterKey(Buffer.from(line ?? '', 'base64'))

const start = (...options: string[]): ChildProcess =>
  spawn(
    process.execPath,
    [path.join(import.meta.dirname, '../bin/atrium.js'), 'rotate-master-key', ...options],
    {
      env: { PATH: process.env.PATH, DATABASE_URL: database.url, ATRIUM_DATA_DIR: dataDir },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )

async function run(...options: string[]): Promise<{ code: number; output: string }> {
  const child = start(...options)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString('utf8')
    })
  const [code] = await once(child, 'close')
  return { code, output }
}

async function sealedWith(key: MasterKey): Promise<number> {
  const { rows } = await pool.query('SELECT sealed_private_jwk AS sealed FROM identity.signing_keys')
  return rows.filter(({ sealed }) => key.isCurrent(sealed)).length
}

/** Secrets of workflows, as a space's owners write them. */
async function storeSecrets(key: MasterKey): Promise<void> {
  const spaceId = randomUUID()
  await pool.query(
    `INSERT INTO portal.spaces (space_id, space_name, app_id, created_by_id, created_by_name, modified_by_id, modified_by_name)
     VALUES ($1, 's', 'a', 'x', 'x', 'x', 'x')`,
    [spaceId],
  )
  const { purposeOf: purposeOfSecret } = columnOf('secrets')
  await pool.query(
    `INSERT INTO workflows.secrets (space_id, name, sealed, updated_by)
     SELECT $1, name, sealed, 'x' FROM unnest($2::text[], $3::bytea[]) AS one (name, sealed)`,
    [spaceId, NAMES, NAMES.map((name) => key.seal(purposeOfSecret(`${spaceId}/${name}`), secretOf(name)))],
  )
}

test('every column that holds something sealed is sealed anew', async () => {
  const { rows } = await pool.query(
    `SELECT table_schema || '.' || table_name || '.' || column_name AS name FROM information_schema.columns
      WHERE data_type = 'bytea' AND column_name LIKE '%sealed%' ORDER BY name`,
  )
  expect(rows.map(({ name }) => name)).toEqual(
    sealedColumns.map(({ schema, table, column }) => `${schema}.${table}.${column}`).sort(),
  )
})

test('a change of the master key that is killed in the middle is ended by the next run', async () => {
  const old = keyOf(OLD)
  const kids = Array.from({ length: VALUES }, (_, nth) => `kid-${String(nth).padStart(3, '0')}`)
  await pool.query('DELETE FROM identity.signing_keys')
  await pool.query(
    `INSERT INTO identity.signing_keys (kid, alg, public_jwk, sealed_private_jwk, signs_from)
     SELECT kid, 'ES256', '{}', sealed, now() FROM unnest($1::text[], $2::bytea[]) AS one (kid, sealed)`,
    [kids, kids.map((kid) => old.seal(purposeOf(kid), SECRET))],
  )
  await storeSecrets(old)
  const blocker = await pool.connect()
  await blocker.query('BEGIN')
  await blocker.query('SELECT 1 FROM identity.signing_keys WHERE kid = $1 FOR UPDATE', [kids.at(-1)])

  const child = start()
  const ended = once(child, 'exit')
  const newest = (): MasterKey => keyOf(readKeyFile(dataDir).lines[0])
  const isBegun = async (): Promise<boolean> =>
    readKeyFile(dataDir).lines.length === 2 && (await sealedWith(newest())) > 0
  await expect.poll(isBegun, { timeout: 60_000 }).toBe(true)
  child.kill('SIGKILL')
  expect((await ended)[1]).toBe('SIGKILL')
  await blocker.query('ROLLBACK')
  blocker.release()

  const done = await sealedWith(newest())
  expect(done).toBeGreaterThan(0)
  expect(done).toBeLessThan(VALUES)
  const refused = await run('--forget')
  expect([refused.code, refused.output]).toEqual([
    1,
    expect.stringContaining('are still sealed with a former'),
  ])
  expect(readKeyFile(dataDir).lines).toHaveLength(2)

  const next = await run()
  expect([next.code, next.output]).toEqual([
    0,
    expect.stringContaining(`${VALUES - done + NAMES.length} secrets are sealed with the current master key`),
  ])
  expect(readKeyFile(dataDir).lines).toHaveLength(2)
  const forgotten = await run('--forget')
  expect(forgotten.code, forgotten.output).toBe(0)
  expect(readKeyFile(dataDir).lines).toHaveLength(1)

  const alone = newest()
  const { rows } = await pool.query('SELECT kid, sealed_private_jwk AS sealed FROM identity.signing_keys')
  expect(rows.filter(({ kid, sealed }) => alone.open(purposeOf(kid), sealed) === SECRET)).toHaveLength(VALUES)
  const { rows: secrets } = await pool.query('SELECT secret_id, name, sealed FROM workflows.secrets')
  const { purposeOf: purposeOfSecret } = columnOf('secrets')
  expect(
    secrets
      .map(({ secret_id, name, sealed }) => [name, alone.open(purposeOfSecret(secret_id), sealed)])
      .sort(),
  ).toEqual(NAMES.map((name) => [name, secretOf(name)]))
})
