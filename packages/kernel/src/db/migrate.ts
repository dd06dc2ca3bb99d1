import { readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { type Kysely, sql } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import type pg from 'pg'
import { OperatorError } from '../errors.ts'
import { createDatabase } from './pool.ts'

/** A service's numbered SQL files and the Postgres schema that it owns. */
export interface MigrationSet {
  readonly schema: string
  /** Folder of `0001-….sql` files. */
  readonly folder: string
}

async function readMigrations(folder: string): Promise<Record<string, Migration>> {
  const files = (await readdir(folder)).filter((name) => /^\d{4}-.+\.sql$/.test(name)).sort()
  const entries = files.map(async (name): Promise<[string, Migration]> => {
    const text = await readFile(path.join(folder, name), 'utf8')
    return [name.replace(/\.sql$/, ''), { up: async (db) => void (await sql.raw(text).execute(db)) }]
  })
  return Object.fromEntries(await Promise.all(entries))
}

/**
 * Brings every schema up to date. Safe to run from several processes at once: Kysely's migrator holds
 * an advisory lock, and each set runs in one transaction.
 * @returns the names of the migrations that ran, `schema/name`
 * @throws OperatorError when a migration fails or the database is newer than this code
 */
export async function migrate(pool: pg.Pool, sets: readonly MigrationSet[]): Promise<string[]> {
  const db: Kysely<unknown> = createDatabase(pool)
  const done: string[] = []
  for (const { schema, folder } of sets) {
    const migrator = new Migrator({
      db,
      provider: { getMigrations: () => readMigrations(folder) },
      migrationTableSchema: schema,
      migrationTableName: 'migrations',
      migrationLockTableName: 'migrations_lock',
    })
    const { error, results } = await migrator.migrateToLatest()
    for (const result of results ?? []) {
      if (result.status === 'Success') done.push(`${schema}/${result.migrationName}`)
    }
    if (error !== undefined) {
      throw new OperatorError(`migrating schema ${schema} failed: ${(error as Error).message}`, {
        cause: error,
      })
    }
  }
  return done
}
