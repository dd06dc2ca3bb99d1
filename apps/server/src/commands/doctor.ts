import { constants } from 'node:fs'
import { access, mkdir, rm, statfs, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { freemem } from 'node:os'
import path from 'node:path'
import { checkEmbeddedPostgres, createPool, readDataDirOwner } from '@atrium/kernel/db'
import { OperatorError } from '@atrium/kernel/errors'
import { createLogger } from '@atrium/kernel/log'
import { type Config, parseConfig, type ServiceName } from '../config.ts'

/** What a check found: a sentence, and whether it stops the platform from working. */
interface Finding {
  readonly level: 'ok' | 'note' | 'problem'
  readonly text: string
}

type Check = (config: Config) => Promise<Finding>

const ok = (text: string): Finding => ({ level: 'ok', text })
const note = (text: string): Finding => ({ level: 'note', text })
const problem = (text: string): Finding => ({ level: 'problem', text })
const GIB = 2 ** 30

const checkNode: Check = async () => {
  const major = Number(process.versions.node.split('.')[0])
  return major >= 24
    ? ok(`Node.js ${process.versions.node}`)
    : problem(
        `Node.js ${process.versions.node} is too old: 24 is needed. Run through npm, which uses the one it installed.`,
      )
}

const checkDataDir: Check = async ({ dataDir }) => {
  const probe = path.join(dataDir, `probe-${process.pid}`)
  await mkdir(dataDir, { recursive: true })
  await writeFile(probe, '')
  await rm(probe)
  const { bavail, bsize } = await statfs(dataDir)
  const free = `${((bavail * bsize) / GIB).toFixed(1)} GiB free`
  return bavail * bsize < GIB
    ? problem(`The data folder ${dataDir} has only ${free}: at least 1 GiB is needed`)
    : ok(`Data folder ${dataDir}, ${free}`)
}

const checkOwner: Check = async ({ dataDir }) => {
  const owner = await readDataDirOwner(dataDir)
  return owner === undefined
    ? ok('No other Atrium uses the data folder')
    : note(`Atrium runs on this data folder (process ${owner})`)
}

interface Answer {
  readonly version: number
  readonly mayCreate: boolean
  /** Another process made the schemas. */
  readonly isMigrated: boolean
}

async function ask(url: string): Promise<Answer> {
  const log = createLogger({ level: 'silent' })
  const pool = createPool(url, { max: 1, applicationName: 'atrium-doctor', log })
  try {
    const { rows } = await pool.query<{ version: string; mayCreate: boolean; isMigrated: boolean }>(
      `SELECT current_setting('server_version_num') AS version,
              has_database_privilege(current_database(), 'CREATE') AS "mayCreate",
              EXISTS (SELECT FROM pg_namespace WHERE nspname = 'platform') AS "isMigrated"`,
    )
    const [{ version, mayCreate, isMigrated } = { version: '0', mayCreate: false, isMigrated: false }] = rows
    return { version: Math.floor(Number(version) / 10_000), mayCreate, isMigrated }
  } finally {
    await pool.end()
  }
}

const checkDatabase: Check = async (config) => {
  const url = config.platform.DATABASE_URL
  if (url === undefined) {
    await checkEmbeddedPostgres(config.dataDir)
    return ok('Embedded PostgreSQL can run here')
  }
  const migrationUrl = config.platform.ATRIUM_MIGRATION_DATABASE_URL
  const server = await ask(url)
  if (server.version < 15)
    return problem(`DATABASE_URL: PostgreSQL ${server.version} is too old, 15 is needed`)
  // The server itself makes no schemas: who migrates does, where that is another role.
  const owner = migrationUrl === undefined ? server : await ask(migrationUrl)
  if (owner.mayCreate || server.isMigrated) return ok(`DATABASE_URL: PostgreSQL ${server.version}`)
  const name = migrationUrl === undefined ? 'DATABASE_URL' : 'ATRIUM_MIGRATION_DATABASE_URL'
  return problem(`${name}: its user may not create schemas in this database`)
}

const checkPort: Check = async ({ platform, dataDir }) => {
  const { ATRIUM_HOST: host, ATRIUM_PORT: port } = platform
  const server = createServer()
  const error = await new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    server.once('error', resolve)
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })
  if (error === undefined) return ok(`Port ${port} of ${host} is free`)
  const owner = await readDataDirOwner(dataDir)
  if (error.code === 'EADDRINUSE' && owner !== undefined)
    return note(`Port ${port} of ${host} is in use, as it should be while Atrium runs`)
  return problem(`Port ${port} of ${host} cannot be used (${error.code}): set ATRIUM_PORT or ATRIUM_HOST`)
}

const checkMasterKey: Check = async ({ platform, dataDir }) => {
  if (platform.ATRIUM_MASTER_KEY !== undefined) {
    const bytes = Buffer.from(platform.ATRIUM_MASTER_KEY, 'base64').length
    return bytes === 32
      ? ok('ATRIUM_MASTER_KEY is set')
      : problem(`ATRIUM_MASTER_KEY holds ${bytes} bytes; 32 are needed`)
  }
  const file = path.join(dataDir, 'master.key')
  const exists = await access(file, constants.R_OK).then(
    () => true,
    () => false,
  )
  return exists
    ? ok(`Master key in ${file}: back it up, nothing sealed opens without it`)
    : ok('A master key will be made at the first start')
}

const checkMemory: Check = async () =>
  freemem() < 0.5 * GIB
    ? note(`Only ${(freemem() / GIB).toFixed(1)} GiB of memory are free`)
    : ok(`${(freemem() / GIB).toFixed(1)} GiB of memory free`)

const checkModels: Check = async (config) => {
  const { describeBackends } = await import('@atrium/gateway')
  const lines = await describeBackends(config.gateway, {
    nodeEnv: config.platform.NODE_ENV,
    ownPort: config.platform.ATRIUM_PORT,
  })
  if (lines.length === 0) return note('No model backend: set OPENAI_API_KEY or OPENAI_BASE_URL')
  return ok(`Models: ${lines.join('; ')}`)
}

const checkEmbeddings: Check = async ({ agents, dataDir }) => {
  const { checkRetrieval } = await import('@atrium/agents')
  return ok(`Embeddings in ${await checkRetrieval({ env: agents, dataDir })} can be written and read`)
}

const CHECKS: readonly Check[] = [
  checkNode,
  checkMemory,
  checkDataDir,
  checkOwner,
  checkDatabase,
  checkPort,
  checkMasterKey,
]

/** What a process must have for one service only. */
const CHECKS_OF: Readonly<Partial<Record<ServiceName, Check>>> = {
  agents: checkEmbeddings,
  gateway: checkModels,
}

const MARKS = { ok: '✓', note: '•', problem: '✗' } as const

/** Checks the environment and what the services of ATRIUM_SERVICES need, prints a line for each, and exits with 1 when one found a problem. */
export async function doctor(env: NodeJS.ProcessEnv): Promise<void> {
  const config = parseConfig(env)
  let problems = 0
  const ofServices = [...config.services].flatMap((name) => CHECKS_OF[name] ?? [])
  for (const check of [...CHECKS, ...ofServices]) {
    const finding = await check(config).catch((error: unknown) =>
      problem(error instanceof Error ? error.message : String(error)),
    )
    if (finding.level === 'problem') problems += 1
    process.stdout.write(`${MARKS[finding.level]} ${finding.text}\n`)
  }
  if (problems > 0)
    throw new OperatorError(`${problems === 1 ? 'One problem' : `${problems} problems`} found.`)
  process.stdout.write('Everything is in order.\n')
}
