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

async function readMigrations(
  folder: string,
  names: readonly string[],
  onBegin: Begin,
): Promise<Record<string, Migration>> {
  const entries = names.map(async (name): Promise<[string, Migration]> => {
    const text = await readFile(path.join(folder, `${name}.sql`), 'utf8')
    const up: Migration['up'] = async (db) => {
      onBegin(name)
      await sql.raw(text).execute(db)
    }
    return [name, { up }]
  })
  return Object.fromEntries(await Promise.all(entries))
}

/** The names that the schema's table knows, none where there is no table. */
async function executedIn(pool: MigrationSession['pool'], schema: string): Promise<Set<string>> {
  const table = `${pg.escapeIdentifier(schema)}.migrations`
  const found = await pool.query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [table])
  if (found.rows[0]?.there !== true) return new Set()
  const { rows } = await pool.query<{ name: string }>(`SELECT name FROM ${table}`)
  return new Set(rows.map(({ name }) => name))
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
 * @throws OperatorError when a migration fails or the database is newer than this code
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
    const executed = await executedIn(session.pool, set.schema)
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
