import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { startEmbeddedPostgres } from '@atrium/kernel/db'
import pg from 'pg'

/** Fixed, so that the template's sealed keys open in every test. */
export const TEST_CREDENTIALS = {
  ATRIUM_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  ATRIUM_BOOTSTRAP_USER: 'qx-admin',
  ATRIUM_BOOTSTRAP_PASSWORD: 'correct horse battery staple',
  ATRIUM_BOOTSTRAP_CLIENT_ID: 'test-superuser-client',
  ATRIUM_BOOTSTRAP_CLIENT_SECRET: 'test-superuser-client-secret-0123456789',
} as const

const TEMPLATE = 'atrium_template'

export interface PreparedDatabase {
  /** Server address without a database name. */
  readonly adminUrl: string
  close(): Promise<void>
}

const withName = (adminUrl: string, name: string): string => {
  const url = new URL(adminUrl)
  url.pathname = `/${name}`
  return url.href
}

async function admin<T>(adminUrl: string, run: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: withName(adminUrl, 'postgres') })
  await client.connect()
  try {
    return await run(client)
  } finally {
    await client.end()
  }
}

/**
 * One PostgreSQL for a test run, with a template database that `fill` has migrated and seeded. Uses
 * `TEST_DATABASE_URL` where that is set, else the embedded server with commits that do not wait for the disk.
 */
export async function prepareTestDatabases(
  fill: (databaseUrl: string) => Promise<void>,
): Promise<PreparedDatabase> {
  const given = process.env.TEST_DATABASE_URL
  const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-test-'))
  const server = given === undefined ? await startEmbeddedPostgres({ dataDir, durable: false }) : undefined
  const adminUrl = server?.url ?? given ?? ''
  await admin(adminUrl, async (client) => {
    await client.query(`DROP DATABASE IF EXISTS ${TEMPLATE} WITH (FORCE)`)
    await client.query(`CREATE DATABASE ${TEMPLATE}`)
  })
  await fill(withName(adminUrl, TEMPLATE))
  return {
    adminUrl,
    async close() {
      await server?.stop()
      await rm(dataDir, { recursive: true, force: true })
    },
  }
}

/** Copies the template; `drop` removes the copy with whatever is still connected to it. */
export async function cloneTemplate(adminUrl: string): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `t_${process.pid}_${Math.random().toString(36).slice(2, 10)}`
  await admin(adminUrl, (client) =>
    client.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} STRATEGY FILE_COPY`),
  )
  return {
    url: withName(adminUrl, name),
    drop: async () => {
      await admin(adminUrl, (client) => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
    },
  }
}
