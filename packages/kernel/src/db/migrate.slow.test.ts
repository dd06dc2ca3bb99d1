import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createLogger } from '../log.ts'
import { type EmbeddedPostgres, startEmbeddedPostgres } from './embedded/postgres.ts'
import { migrate } from './migrate.ts'
import { MigrationSession, type MigrationSessionOptions } from './migration-session.ts'

let folder = ''
let server: EmbeddedPostgres
let admin: pg.Client
let number = 0
/** A new one for each test. */
let database = ''
let url = ''
let migrations = ''

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-migrate-'))
  server = await startEmbeddedPostgres({ dataDir: folder, durable: false })
  admin = new pg.Client({ connectionString: server.url })
  await admin.connect()
})
afterAll(async () => {
  await admin.end()
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})
beforeEach(async () => {
  database = `migrate_${++number}`
  await admin.query(`CREATE DATABASE ${database}`)
  url = Object.assign(new URL(server.url), { pathname: `/${database}` }).href
  migrations = path.join(folder, database)
  await mkdir(migrations)
})

const write = (name: string, text: string) => writeFile(path.join(migrations, `${name}.sql`), text)

async function run(options: Partial<MigrationSessionOptions> = {}): Promise<string[]> {
  await using session = new MigrationSession(url, { log: createLogger({ level: 'silent' }), ...options })
  return await migrate(session, [{ schema: 'thing', folder: migrations }])
}

async function connected(application = 'test') {
  const client = new pg.Client({ connectionString: url, application_name: application })
  // The server ends some of them.
  client.on('error', () => {})
  await client.connect()
  return client
}

async function query(text: string): Promise<object[]> {
  const client = await connected()
  try {
    return (await client.query<Record<string, unknown>>(text)).rows
  } finally {
    await client.end()
  }
}

/** What is logged, by message. */
function recorder() {
  const lines: string[] = []
  const log = createLogger({ level: 'silent' })
  const note = (...args: unknown[]): void => void lines.push(String(args.at(-1)))
  return { lines, log: Object.assign(Object.create(log) as typeof log, { info: note, warn: note }) }
}

describe('migrations', () => {
  it('run once and in order, whoever else starts at the same moment', async () => {
    await write('0001-first', 'CREATE TABLE thing.a (n int); INSERT INTO thing.a VALUES (1);')
    await write('0002-second', 'SELECT pg_sleep(0.5); INSERT INTO thing.a VALUES (2);')
    const done = await Promise.all([run(), run(), run(), run()])
    expect(done.flat().sort()).toEqual(['thing/0001-first', 'thing/0002-second'])
    expect(await query('SELECT n FROM thing.a')).toEqual([{ n: 1 }, { n: 2 }])
  })

  it('wait for the process that is at it, longer than for a lock', async () => {
    await write('0001-slow', 'CREATE TABLE thing.a (n int); SELECT pg_sleep(2);')
    const hurried = { lockTimeoutMs: 100, attempts: 1, pauseMs: 1 }
    const done = await Promise.all([run(hurried), run(hurried)])
    expect(done.flat()).toEqual(['thing/0001-slow'])
  })

  it('are not gone back on by an older release that starts beside a newer one', async () => {
    await write('0001-first', 'CREATE TABLE thing.a (n int)')
    await write('0002-second', 'ALTER TABLE thing.a ADD m int')
    await run()
    await rm(path.join(migrations, '0002-second.sql'))
    await expect(run()).rejects.toThrow('0002-second is missing')
    expect(await query('SELECT n, m FROM thing.a')).toEqual([])
  })

  it('are refused before any runs when the file of one that was applied has changed, and only then', async () => {
    await write('0001-first', 'CREATE TABLE thing.a (n int);\n')
    await run()
    await write('0002-second', 'ALTER TABLE thing.a ADD m int')
    await write('0001-first', 'CREATE TABLE thing.a (n int, l int);\n')
    await expect(run()).rejects.toThrow(
      'The migration thing/0001-first was changed after it had been applied',
    )
    expect(await query("SELECT FROM information_schema.columns WHERE column_name = 'm'")).toEqual([])
    await write('0001-first', 'CREATE TABLE thing.a (n int);\r\n')
    expect(await run()).toEqual(['thing/0002-second'])
    await write('0002-second', 'ALTER TABLE thing.a ADD m bigint')
    await expect(run()).rejects.toThrow('thing/0002-second was changed')
  })

  it('that an older release applied are taken for what their files say, and watched from then on', async () => {
    await write('0001-first', 'CREATE TABLE thing.a (n int)')
    await run()
    await query('ALTER TABLE thing.migrations DROP COLUMN checksum')
    expect(await run()).toEqual([])
    await write('0001-first', 'CREATE TABLE thing.a (n bigint)')
    await expect(run()).rejects.toThrow('thing/0001-first was changed')
  })

  it('say which one failed, keep those before it, and nothing of itself', async () => {
    await write('0001-right', 'CREATE TABLE thing.a (n int)')
    await write('0002-wrong', 'INSERT INTO thing.a VALUES (1); SELECT nonsense')
    await expect(run()).rejects.toThrow('migrating schema thing failed at 0002-wrong: column "nonsense"')
    expect(await query('SELECT n FROM thing.a')).toEqual([])
  })

  it('take as long as they take, whatever time-outs the database has, and say so', async () => {
    for (const name of ['statement_timeout', 'transaction_timeout', 'idle_in_transaction_session_timeout']) {
      await admin.query(`ALTER DATABASE ${database} SET ${name} = '500ms'`)
    }
    await expect(query('SELECT pg_sleep(2)')).rejects.toThrow('timeout')

    await write('0001-quick', 'CREATE TABLE thing.a (n int)')
    await write('0002-long', 'SELECT pg_sleep(12)')
    const { lines, log } = recorder()
    expect(await run({ log })).toEqual(['thing/0001-quick', 'thing/0002-long'])
    expect(lines).toEqual([
      'migration thing/0001-quick begins, 1 of 2',
      'migration thing/0002-long begins, 2 of 2',
      expect.stringMatching(/^migrating schema thing still runs after 1\d s$/),
    ])
  }, 60_000)

  describe('that need a lock of another session', () => {
    let holder: pg.Client
    let pid = 0
    const hurried = { lockTimeoutMs: 200, pauseMs: 100 }
    beforeEach(async () => {
      await write('0001-first', 'CREATE TABLE thing.a (n int)')
      await run()
      await write('0002-second', 'ALTER TABLE thing.a ADD m int')
      holder = await connected('a-report')
      await holder.query('BEGIN')
      const { rows } = await holder.query<{ pid: number }>('SELECT pg_backend_pid() AS pid FROM thing.a')
      pid = rows[0]?.pid ?? (await holder.query('SELECT pg_backend_pid() AS pid')).rows[0].pid
    })

    it('try again, and pass once it is free; others read meanwhile', async () => {
      const { lines, log } = recorder()
      const migrated = run({ log, attempts: 10_000, ...hurried })
      await expect.poll(() => lines.length, { timeout: 20_000 }).toBeGreaterThan(3)
      expect(await query('SELECT n FROM thing.a')).toEqual([])
      await holder.query('COMMIT')
      expect(await migrated).toEqual(['thing/0002-second'])
      await holder.end()
      expect(lines).toContainEqual(
        expect.stringContaining(
          `needs a lock that is held by session ${pid} (role atrium, application a-report`,
        ),
      )
    }, 60_000)

    it('give up, and tell the operator who holds it', async () => {
      await expect(run({ attempts: 3, ...hurried })).rejects.toThrow(
        new RegExp(
          `^migrating schema thing was tried 3 times and needs a lock that is held by session ${pid} \\(role atrium, application a-report, from 127.0.0.1, idle in transaction, in a transaction since 20`,
        ),
      )
      await holder.end()
      expect(await run()).toEqual(['thing/0002-second'])
    }, 60_000)
  })
})
