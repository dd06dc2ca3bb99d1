import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createDatabase, createPool, MigrationSession, type MigrationSet, migrate } from '@atrium/kernel/db'
import { OperatorError } from '@atrium/kernel/errors'
import type { Logger } from '@atrium/kernel/log'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { quoted } from './dump-database.ts'
import type { Manifest } from './manifest.ts'

/** @throws OperatorError when the backup has migrations that this release does not know */
export async function demandKnownMigrations(
  manifest: Manifest,
  sets: readonly MigrationSet[],
): Promise<void> {
  for (const [schema, last] of Object.entries(manifest.migrations)) {
    const set = sets.find((one) => one.schema === schema)
    const names = set === undefined ? [] : await readdir(set.folder)
    if (!names.includes(`${last}.sql`)) {
      throw new OperatorError(
        `The backup was made by a newer Atrium (migration ${schema}/${last}); restore it with that one, or a newer one.`,
      )
    }
  }
}

/** @throws OperatorError when there is something of Atrium's in the database */
export async function demandEmptyDatabase(ownerUrl: string, schemas: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ nspname: string }>(
      'SELECT nspname FROM pg_namespace WHERE nspname = ANY ($1) LIMIT 1',
      [schemas],
    )
    if (rows.length > 0) {
      throw new OperatorError(
        `The database is not empty: it has a schema ${rows[0]?.nspname}. Restore into a new one.`,
      )
    }
  } finally {
    await client.end()
  }
}

/**
 * Triggers that count what is inserted: what they wrote is in the backup too, and would be there twice.
 * @returns pairs of table and trigger, quoted
 */
async function countingTriggers(client: pg.Client, schemas: readonly string[]): Promise<[string, string][]> {
  const { rows } = await client.query<{ schema: string; table: string; name: string }>(
    `SELECT n.nspname AS schema, c.relname AS table, t.tgname AS name
       FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = ANY ($1) AND NOT t.tgisinternal AND t.tgenabled = 'O' AND t.tgtype & 4 <> 0`,
    [schemas],
  )
  return rows.map(({ schema, table, name }) => [quoted(schema, table), quoted(name)])
}

/**
 * Makes the schemas as they were and fills them, in one transaction.
 * @param sets of this release, which may be newer
 */
export async function loadDatabase(
  ownerUrl: string,
  folder: string,
  manifest: Manifest,
  sets: readonly MigrationSet[],
  log: Logger,
): Promise<void> {
  {
    await using session = new MigrationSession(ownerUrl, { log })
    await migrate(session, sets, manifest.migrations)
  }
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'atrium-restore' })
  await client.connect()
  try {
    await client.query('BEGIN')
    const schemas = sets.map(({ schema }) => schema)
    const counting = await countingTriggers(client, schemas)
    for (const [table, name] of counting) await client.query(`ALTER TABLE ${table} DISABLE TRIGGER ${name}`)
    for (const { schema, table, columns, file } of manifest.tables) {
      const list = columns.map((column) => quoted(column)).join(', ')
      const rows = client.query(copyFrom(`COPY ${quoted(schema, table)} (${list}) FROM STDIN`))
      await pipeline(createReadStream(path.join(folder, ...file.split('/'))), rows)
    }
    for (const { schema, sequence, value } of manifest.sequences) {
      await client.query('SELECT setval($1::regclass, $2::bigint)', [quoted(schema, sequence), value])
    }
    // Checks that wait for the end of the transaction stand in the way of changes to their tables.
    await client.query('SET CONSTRAINTS ALL IMMEDIATE')
    for (const [table, name] of counting) await client.query(`ALTER TABLE ${table} ENABLE TRIGGER ${name}`)
    await client.query('COMMIT')
  } finally {
    await client.end()
  }
  const after = createPool(ownerUrl, { max: 1, applicationName: 'atrium-restore', log })
  try {
    const { agentsRestored } = await import('@atrium/agents')
    await agentsRestored(createDatabase(after), manifest.deletedStores)
  } finally {
    await after.end()
  }
}
