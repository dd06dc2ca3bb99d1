import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createLogger } from '../../log.ts'
import { createNotifications } from '../notifications.ts'
import { createPool } from '../pool.ts'
import { lockDataDir, readDataDirOwner } from './lock.ts'
import { type EmbeddedPostgres, readEmbeddedUrl, startEmbeddedPostgres } from './postgres.ts'

const log = createLogger({ level: 'silent' })
let folder = ''

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'atrium-embedded-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

async function query<Row extends pg.QueryResultRow>(url: string, text: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Row>(text)).rows
  } finally {
    await client.end()
  }
}

describe('the embedded PostgreSQL', () => {
  it('keeps what was committed over a stop, and over a kill of the whole server', async () => {
    const dataDir = path.join(folder, 'keep')
    const first = await startEmbeddedPostgres({ dataDir })
    await query(first.url, 'CREATE TABLE t AS SELECT 1 AS n')
    expect(await readEmbeddedUrl(dataDir)).toBe(first.url)
    await first.stop()
    expect(await readEmbeddedUrl(dataDir)).toBeUndefined()

    const second = await startEmbeddedPostgres({ dataDir })
    await query(second.url, 'INSERT INTO t VALUES (2)')
    const [{ pid } = { pid: 0 }] = await query<{ pid: number }>(
      second.url,
      "SELECT (regexp_split_to_array(pg_read_file('postmaster.pid'), E'\\n'))[1]::int AS pid",
    )
    process.kill(pid, 'SIGKILL')
    expect((await second.crashed).message).toContain('SIGKILL')

    const third = await startEmbeddedPostgres({ dataDir })
    expect(await query(third.url, 'SELECT n FROM t ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }])
    await third.stop()
  })

  it('stops a server that outlived its parent', async () => {
    const dataDir = path.join(folder, 'orphan')
    const orphan = await startEmbeddedPostgres({ dataDir })
    const next = await startEmbeddedPostgres({ dataDir })
    await expect(query(orphan.url, 'SELECT 1')).rejects.toThrow()
    expect(await query(next.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    await next.stop()
  })

  it('says how data of another major version come over, and leaves them alone', async () => {
    const dataDir = path.join(folder, 'major')
    const first = await startEmbeddedPostgres({ dataDir, durable: false })
    await first.stop()
    const file = path.join(dataDir, 'postgres', 'data', 'PG_VERSION')
    await writeFile(file, '17\n')
    await expect(startEmbeddedPostgres({ dataDir })).rejects.toThrow(
      /of PostgreSQL 17, and this Atrium brings PostgreSQL 18\. Run `atrium backup/,
    )
    await writeFile(file, '18\n')
    const again = await startEmbeddedPostgres({ dataDir, durable: false })
    await again.stop()
  })

  it('begins again after an initialisation that was cut off', async () => {
    const dataDir = path.join(folder, 'half')
    await mkdir(path.join(dataDir, 'postgres', 'data'), { recursive: true })
    await writeFile(path.join(dataDir, 'postgres', 'data', 'PG_VERSION'), '18')
    const server = await startEmbeddedPostgres({ dataDir })
    await server.stop()
  })

  it.runIf(process.getuid?.() === 0)('runs for root below a folder that only root may enter', async () => {
    const closed = path.join(folder, 'private')
    await mkdir(closed)
    await chmod(closed, 0o700)
    const server = await startEmbeddedPostgres({ dataDir: path.join(closed, 'data') })
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    await server.stop()
  })
})

describe('the lock of a data folder', () => {
  it('is refused, naming the pid, while its process lives', async () => {
    const dataDir = path.join(folder, 'locked')
    const lock = await lockDataDir(dataDir)
    await expect(lockDataDir(dataDir)).rejects.toThrow(`in use by process ${process.pid}`)
    await lock.release()
    await (await lockDataDir(dataDir)).release()
  })

  it('is taken over by exactly one of many after its process was killed', async () => {
    const dataDir = path.join(folder, 'stale')
    const holder = spawn(process.execPath, [
      '-e',
      `import(${JSON.stringify(path.join(import.meta.dirname, 'lock.ts'))}).then(async ({ lockDataDir }) => {
        await lockDataDir(${JSON.stringify(dataDir)}); console.log('held'); setInterval(() => {}, 1e6) })`,
    ])
    await once(holder.stdout, 'data')
    expect(await readDataDirOwner(dataDir)).toBe(holder.pid)
    holder.kill('SIGKILL')
    await once(holder, 'exit')
    expect(await readDataDirOwner(dataDir)).toBeUndefined()
    const tries = await Promise.allSettled(Array.from({ length: 10 }, () => lockDataDir(dataDir)))
    expect(tries.filter((one) => one.status === 'fulfilled')).toHaveLength(1)
  })
})

describe('on one server', () => {
  let server: EmbeddedPostgres
  beforeAll(async () => {
    server = await startEmbeddedPostgres({ dataDir: path.join(folder, 'shared'), durable: false })
  })
  afterAll(() => server.stop())

  it('a connection that breaks in the middle of a transaction fails that transaction and nothing else', async () => {
    const pool = createPool(server.url, { max: 1, applicationName: 'breaks', log })
    const client = await pool.connect()
    await client.query('BEGIN')
    const broken = new Promise((resolve) => client.once('end', resolve))
    await query(
      server.url,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'breaks'",
    )
    await broken
    await expect(client.query('SELECT 1')).rejects.toThrow()
    client.release(true)
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
    await pool.end()
  })

  it('notifications arrive again after the connection broke, and the gap is told', async () => {
    const notifications = createNotifications({ url: server.url, log })
    const received: string[] = []
    const gap = new Promise<void>((resolve) => notifications.onGap(resolve))
    await notifications.subscribe('news', (payload) => received.push(payload))
    await query(server.url, "SELECT pg_notify('news', 'one')")
    await expect.poll(() => received).toEqual(['one'])
    await query(
      server.url,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'atrium-listen'",
    )
    await gap
    await query(server.url, "SELECT pg_notify('news', 'two')")
    await expect.poll(() => received).toEqual(['one', 'two'])
    await notifications.close()
  })
})
