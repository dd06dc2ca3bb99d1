import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { ensureServerRole, serverUrlOf, startEmbeddedPostgres } from '@atrium/kernel/db'
import { Closers, every } from '@atrium/kernel/lifecycle'
import pg from 'pg'

/** Fixed, so that the template's sealed keys open in every test. */
export const TEST_CREDENTIALS = {
  ATRIUM_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
  ATRIUM_BOOTSTRAP_USER: 'qx-admin',
  ATRIUM_BOOTSTRAP_PASSWORD: 'correct horse battery staple',
  ATRIUM_BOOTSTRAP_CLIENT_ID: 'test-superuser-client',
  ATRIUM_BOOTSTRAP_CLIENT_SECRET: 'test-superuser-client-secret-0123456789',
} as const

/** The address of a database of the test run as its owner. */
export function asOwner(adminUrl: string, databaseUrl: string): string {
  const url = new URL(databaseUrl)
  const { username, password } = new URL(adminUrl)
  return Object.assign(url, { username, password }).href
}

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
  fill: (urls: { databaseUrl: string; ownerUrl: string }) => Promise<void>,
): Promise<PreparedDatabase> {
  const given = process.env.TEST_DATABASE_URL
  const closers = new Closers()
  const dataDir = await mkdtemp(path.join(tmpdir(), 'atrium-test-'))
  closers.add('data folder', () => rm(dataDir, { recursive: true, force: true }))
  try {
    const server = given === undefined ? await startEmbeddedPostgres({ dataDir, durable: false }) : undefined
    closers.add('PostgreSQL', () => server?.stop())
    const adminUrl = server?.url ?? given ?? ''
    await admin(adminUrl, async (client) => {
      await client.query(`DROP DATABASE IF EXISTS ${TEMPLATE} WITH (FORCE)`)
      await client.query(`CREATE DATABASE ${TEMPLATE}`)
    })
    const ownerUrl = withName(adminUrl, TEMPLATE)
    await ensureServerRole(ownerUrl)
    await fill({ databaseUrl: serverUrlOf(ownerUrl), ownerUrl })
    closers.add('warm copies', keepWarm(adminUrl))
    return { adminUrl, close: () => closers.close() }
  } catch (error) {
    await closers.close()
    throw error
  }
}

const WARM = 'warm_'
const WARM_COPIES = 2

const copy = (client: pg.Client, name: string): Promise<unknown> =>
  client.query(`CREATE DATABASE ${name} TEMPLATE ${TEMPLATE} STRATEGY FILE_COPY`)

/** Keeps a few copies of the template ready, so that a test waits for a rename instead of a copy. */
function keepWarm(adminUrl: string): () => Promise<void> {
  let made = 0
  return every(
    50,
    () =>
      admin(adminUrl, async (client) => {
        const { rows } = await client.query(
          `SELECT count(*)::int AS ready FROM pg_database WHERE datname LIKE '${WARM}%'`,
        )
        for (let ready = rows[0].ready as number; ready < WARM_COPIES; ready++)
          await copy(client, `${WARM}${++made}`)
      }),
    () => {}, // A copy that fails here is made by the test itself, which then shows the error.
  )
}

/**
 * A database of its own for a test; `url` is the server's, `ownerUrl` that of the owner, who may do what the server may
 * not. `drop` removes it with whatever is still connected to it.
 */
export async function cloneTemplate(
  adminUrl: string,
): Promise<{ url: string; ownerUrl: string; drop(): Promise<void> }> {
  const name = `t_${process.pid}_${Math.random().toString(36).slice(2, 10)}`
  await admin(adminUrl, async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      `SELECT datname FROM pg_database WHERE datname LIKE '${WARM}%' ORDER BY random()`,
    )
    for (const { datname } of rows) {
      // Another test may be faster: then the next one, or a copy.
      const renamed = client.query(`ALTER DATABASE ${datname} RENAME TO ${name}`)
      if (
        await renamed.then(
          () => true,
          () => false,
        )
      )
        return
    }
    await copy(client, name)
  })
  return {
    url: serverUrlOf(withName(adminUrl, name)),
    ownerUrl: withName(adminUrl, name),
    drop: async () => {
      await admin(adminUrl, (client) => client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))
    },
  }
}
