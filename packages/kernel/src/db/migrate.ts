import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import pg from 'pg'
import { OperatorError } from '../errors.ts'
import type { MigrationSession } from './migration-session.ts'
import { createDatabase } from './pool.ts'

/** A service's numbered SQL files and the Postgres schema that it owns. */
export interface MigrationSet {
  readonly schema: string
  /** Folder of `0001-….sql` files. */
  readonly folder: string
  /** Tables that the server's role only reads and adds to. */
  readonly appendOnly?: readonly string[]
}

type Begin = (name: string) => void

const namesIn = async (folder: string, last: string | undefined): Promise<string[]> =>
  (await readdir(folder))
    .flatMap((file) => (/^\d{4}-.+\.sql$/.test(file) ? [file.replace(/\.sql$/, '')] : []))
    .filter((name) => last === undefined || name <= last)
    .sort()

const textOf = (folder: string, name: string): Promise<string> =>
  readFile(path.join(folder, `${name}.sql`), 'utf8')

/** Of a migration's text, however a checkout ends its lines. */
const checksumOf = (text: string): string =>
  createHash('sha256').update(text.replaceAll('\r\n', '\n')).digest('hex')

async function readMigrations(
  folder: string,
  names: readonly string[],
  onBegin: Begin,
): Promise<Record<string, Migration>> {
  const entries = names.map(async (name): Promise<[string, Migration]> => {
    const text = await textOf(folder, name)
    const up: Migration['up'] = async (db) => {
      onBegin(name)
      await sql.raw(text).execute(db)
    }
    return [name, { up }]
  })
  return Object.fromEntries(await Promise.all(entries))
}

interface Applied {
  readonly name: string
  /** Null where an older release applied it, or a process ended before it had noted it. */
  readonly checksum: string | null
}

/** What the schema's table knows, nothing where there is no table. */
async function appliedIn(pool: MigrationSession['pool'], schema: string): Promise<Applied[]> {
  const table = `${pg.escapeIdentifier(schema)}.migrations`
  const found = await pool.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [table])
  if (found.rows[0]?.there !== true) return []
  // By way of json: releases before this one have no such column.
  const { rows } = await pool.query<Applied>(
    `SELECT name, to_json(m) ->> 'checksum' AS checksum FROM ${table} m ORDER BY name`,
  )
  return rows
}

/** @throws OperatorError when the file of a migration is not the one that was applied */
async function demandUnchanged({ schema, folder }: MigrationSet, applied: readonly Applied[]): Promise<void> {
  const known = new Set(await namesIn(folder, undefined))
  for (const { name, checksum } of applied) {
    // That a file is missing is told by Kysely.
    if (checksum === null || !known.has(name) || checksum === checksumOf(await textOf(folder, name))) continue
    throw new OperatorError(
      `The migration ${schema}/${name} was changed after it had been applied to this database, so the database is not what this release takes it for. Start the release that applied it, or restore a backup into a new database; whoever changed the file puts it back, and adds a new migration.`,
    )
  }
}

/** Notes the checksums of what was applied without. */
async function noteChecksums(
  session: MigrationSession,
  { schema, folder }: MigrationSet,
  names: readonly string[],
): Promise<void> {
  const applied = await appliedIn(session.pool, schema)
  const missing = applied.filter(({ name, checksum }) => checksum === null && names.includes(name))
  if (missing.length === 0) return
  const sums = await Promise.all(missing.map(async ({ name }) => checksumOf(await textOf(folder, name))))
  const table = `${pg.escapeIdentifier(schema)}.migrations`
  await session.run(`noting what was applied to schema ${schema}`, async () => {
    await session.pool.query(`ALTER TABLE ${table} ADD COLUMN IF NOT EXISTS checksum text`)
    await session.pool.query(
      `UPDATE ${table} m SET checksum = new.checksum
         FROM unnest($1::text[], $2::text[]) AS new (name, checksum)
        WHERE m.name = new.name AND m.checksum IS NULL`,
      [missing.map(({ name }) => name), sums],
    )
  })
}

interface Plan {
  readonly set: MigrationSet
  readonly names: readonly string[]
}

/** Runs the next migration of a schema, in a transaction of its own. @returns its name, undefined when there is none */
async function migrateOne(
  session: MigrationSession,
  { set: { schema, folder }, names }: Plan,
  onBegin: Begin,
): Promise<string | undefined> {
  const migrator = new Migrator({
    db: createDatabase(session.pool),
    provider: { getMigrations: () => readMigrations(folder, names, onBegin) },
    migrationTableSchema: schema,
    migrationTableName: 'migrations',
    migrationLockTableName: 'migrations_lock',
  })
  return session.run(`migrating schema ${schema}`, async () => {
    // Never `migrateTo`: it goes backwards when another process is ahead.
    const { error, results } = await migrator.migrateUp()
    if (error instanceof Error) throw error
    return results?.[0]?.migrationName
  })
}

/**
 * Brings every schema up to date. Safe to run from several processes at once: Kysely's migrator holds an advisory
 * lock, and each migration runs in a transaction of its own.
 * @param upTo the last migration of each schema, to make them as an older release had them; the latest by default
 * @returns the names of the migrations that ran, `schema/name`
 * @throws OperatorError when a migration fails, the database is newer than this code, or the file of one that was applied
 *   has changed
 */
export async function migrate(
  session: MigrationSession,
  sets: readonly MigrationSet[],
  upTo?: Readonly<Record<string, string>>,
): Promise<string[]> {
  const wanted = sets.filter(({ schema }) => upTo === undefined || upTo[schema] !== undefined)
  const plans = await Promise.all(
    wanted.map(async (set): Promise<Plan> => ({ set, names: await namesIn(set.folder, upTo?.[set.schema]) })),
  )
  let pending = 0
  for (const { set, names } of plans) {
    const applied = await appliedIn(session.pool, set.schema)
    await demandUnchanged(set, applied)
    const executed = new Set(applied.map(({ name }) => name))
    pending += names.filter((name) => !executed.has(name)).length
  }
  const done: string[] = []
  for (const plan of plans) {
    const { schema } = plan.set
    let current: string | undefined
    const onBegin = (name: string): void => {
      current = name
      session.log.info(`migration ${schema}/${name} begins, ${done.length + 1} of ${pending}`)
    }
    try {
      for (;;) {
        const name = await migrateOne(session, plan, onBegin)
        if (name === undefined) break
        done.push(`${schema}/${name}`)
      }
      await noteChecksums(session, plan.set, plan.names)
    } catch (error) {
      if (error instanceof OperatorError) throw error
      const at = current === undefined ? '' : ` at ${current}`
      throw new OperatorError(`migrating schema ${schema} failed${at}: ${(error as Error).message}`, {
        cause: error,
      })
    }
  }
  return done
}
