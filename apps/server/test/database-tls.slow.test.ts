import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createPool, waitForDatabase } from '@atrium/kernel/db'
import { createLogger } from '@atrium/kernel/log'
import {
  type OwnPostgres,
  startOwnPostgres,
  startTestPlatform,
  TEST_CERTIFICATE,
  TEST_CERTIFICATE_KEY,
} from '@atrium/testing'
import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'

/** Whom the embedded PostgreSQL runs as where the tests run as root. */
const NOBODY = 65534

let postgres: OwnPostgres
let folder: string
let certificate: string
let admin: pg.Client
beforeAll(async () => {
  postgres = await startOwnPostgres()
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-tls-'))
  certificate = path.join(folder, 'server.crt')
  const key = path.join(folder, 'server.key')
  await writeFile(certificate, TEST_CERTIFICATE)
  await writeFile(key, TEST_CERTIFICATE_KEY, { mode: 0o600 })
  if (process.getuid?.() === 0)
    for (const file of [folder, key, certificate]) await chown(file, NOBODY, NOBODY)
  admin = new pg.Client({ connectionString: postgres.directUrl() })
  await admin.connect()
  await admin.query(`ALTER SYSTEM SET ssl_cert_file = '${certificate}'`)
  await admin.query(`ALTER SYSTEM SET ssl_key_file = '${key}'`)
  await admin.query('ALTER SYSTEM SET ssl = on')
  await admin.query('SELECT pg_reload_conf()')
  await vi.waitFor(async () => {
    if ((await admin.query('SHOW ssl')).rows[0].ssl !== 'on') throw new Error('not reloaded yet')
  })
}, 120_000)
afterAll(async () => {
  await admin?.end()
  await postgres?.close()
  await rm(folder, { recursive: true, force: true })
})

/** The test certificate is one of `localhost`, and signed by itself. */
const urlOf = (host: string, parameters: Record<string, string>): string => {
  const url = new URL(postgres.url)
  url.hostname = host
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

test.each(['require', 'verify-full'])('every connection is encrypted with sslmode=%s', async (sslmode) => {
  const url = urlOf('localhost', { sslmode, sslrootcert: certificate })
  await using platform = await startTestPlatform({
    env: { DATABASE_URL: url, ATRIUM_BACKGROUND_JOBS: 'true' },
  })
  const space = await platform.space()
  expect((await platform.call('GET', '/llm/v1/models', { token: space.apiKey })).status).toBe(200)
  const { rows } = await admin.query<{ application: string; encrypted: boolean }>(
    `SELECT DISTINCT application_name AS application, ssl AS encrypted
       FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE application_name LIKE 'atrium%' ORDER BY 1`,
  )
  expect(rows).toEqual(
    ['atrium', 'atrium-jobs', 'atrium-listen'].map((application) => ({ application, encrypted: true })),
  )
})

test.each([
  ['that nobody vouches for', urlOf.bind(undefined, 'localhost', { sslmode: 'require' }), 'self-signed'],
  [
    'of another host',
    () => urlOf('127.0.0.1', { sslmode: 'verify-full', sslrootcert: certificate }),
    'does not match certificate',
  ],
])('a server with a certificate %s gets no password', async (_whose, url, reason) => {
  const log = createLogger({ level: 'silent' })
  const pool = createPool(url(), { max: 1, applicationName: 'atrium-refused', log })
  await expect(waitForDatabase(pool, { log, waitMs: 100 })).rejects.toThrow(reason)
  await pool.end()
})
