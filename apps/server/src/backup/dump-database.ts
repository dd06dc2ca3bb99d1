import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { writeDurably } from './files.ts'
import type { BackedUpFile, Manifest } from './manifest.ts'

export type DatabasePart = Pick<Manifest, 'postgres' | 'migrations' | 'tables' | 'sequences'> & {
  readonly files: readonly BackedUpFile[]
}

export const MIGRATION_TABLES = ['migrations', 'migrations_lock']

interface Table {
  readonly schema: string
  readonly table: string
  readonly columns: string[]
}

/** The tables that last, with the columns that are not computed; those that others refer to first. */
export async function tablesOf(client: pg.Client, schemas: readonly string[]): Promise<Table[]> {
  const { rows } = await client.query<Table & { id: string; refers: string[] }>(
    `SELECT c.oid::text AS id, n.nspname AS schema, c.relname AS table,
            array(SELECT a.attname::text FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0
                     AND NOT a.attisdropped AND a.attgenerated = '' ORDER BY a.attnum) AS columns,
            array(SELECT f.confrelid::text FROM pg_constraint f
                   WHERE f.conrelid = c.oid AND f.contype = 'f' AND f.confrelid <> c.oid) AS refers
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
      WHERE n.nspname = ANY ($1) AND c.relkind IN ('r', 'p') AND NOT c.relispartition
        AND c.relpersistence = 'p' AND NOT c.relname = ANY ($2)
      ORDER BY n.nspname, c.relname`,
    [schemas, MIGRATION_TABLES],
  )
  const ordered: Table[] = []
  let left = rows
  while (left.length > 0) {
    const ids = new Set(left.map(({ id }) => id))
    const ready = left.filter(({ refers }) => !refers.some((id) => ids.has(id)))
    if (ready.length === 0)
      throw new Error(`tables refer to each other: ${left.map(({ table }) => table).join()}`)
    ordered.push(...ready.map(({ schema, table, columns }) => ({ schema, table, columns })))
    left = left.filter((row) => !ready.includes(row))
  }
  return ordered
}

export const quoted = (...names: string[]): string => names.map((name) => pg.escapeIdentifier(name)).join('.')

/**
 * Copies what all tables hold at one moment, row by row; writers go on meanwhile.
 * @param afterSnapshot runs once that moment is over
 */
export async function dumpDatabase(
  ownerUrl: string,
  folder: string,
  schemas: readonly string[],
  afterSnapshot: () => Promise<void>,
): Promise<DatabasePart> {
  const client = new pg.Client({ connectionString: ownerUrl, application_name: 'atrium-backup' })
  await client.connect()
  try {
    await client.query('SET statement_timeout = 0; SET idle_in_transaction_session_timeout = 0')
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    // The first statement takes the snapshot.
    const version = await client.query<{ major: number }>(
      "SELECT current_setting('server_version_num')::int / 10000 AS major",
    )
    await afterSnapshot()
    const migrations: Record<string, string> = {}
    for (const schema of schemas) {
      const { rows } = await client.query<{ name: string }>(
        `SELECT max(name) AS name FROM ${quoted(schema, 'migrations')}`,
      )
      migrations[schema] = rows[0]?.name ?? ''
    }
    const tables: Manifest['tables'] = []
    const files: BackedUpFile[] = []
    for (const { schema, table, columns } of await tablesOf(client, schemas)) {
      const list = columns.map((column) => quoted(column)).join(', ')
      const rows = client.query(copyTo(`COPY (SELECT ${list} FROM ${quoted(schema, table)}) TO STDOUT`))
      const file = await writeDurably(folder, `database/${schema}.${table}.copy`, rows)
      tables.push({ schema, table, columns, file: file.path })
      files.push(file)
    }
    const { rows: sequences } = await client.query<Manifest['sequences'][number]>(
      `SELECT schemaname AS schema, sequencename AS sequence, last_value::text AS value
         FROM pg_sequences WHERE schemaname = ANY ($1) AND last_value IS NOT NULL`,
      [schemas],
    )
    return { postgres: version.rows[0]?.major ?? 0, migrations, tables, sequences, files }
  } finally {
    await client.end()
  }
}
