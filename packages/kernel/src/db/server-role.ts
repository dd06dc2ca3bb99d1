import { createHmac } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import pg from 'pg'
import { OperatorError } from '../errors.ts'
import type { MigrationSet } from './migrate.ts'
import { createDatabase } from './pool.ts'

/** The role that the server runs as on the embedded PostgreSQL; the data belong to another one. */
export const SERVER_ROLE = 'atrium_server'

/** Where pg-boss keeps its tables. It alters them while it runs, so they belong to the server's role. */
export const JOBS_SCHEMA = 'jobs'

/** The server's password follows from the owner's, and not the other way. */
const passwordOf = (owner: URL): string =>
  createHmac('sha256', owner.password).update(SERVER_ROLE).digest('base64url')

/** The address under which the server's role reaches the database of this owner. */
export function serverUrlOf(ownerUrl: string): string {
  const url = new URL(ownerUrl)
  const password = passwordOf(url)
  url.username = SERVER_ROLE
  url.password = password
  return url.href
}

/** Makes the server's role, unless it is there, as an owner that may make roles. */
export async function ensureServerRole(ownerUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl })
  await client.connect()
  try {
    const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [SERVER_ROLE])
    const verb = rowCount === 0 ? 'CREATE' : 'ALTER'
    const password = pg.escapeLiteral(passwordOf(new URL(ownerUrl)))
    await client.query(
      `${verb} ROLE ${SERVER_ROLE} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD ${password}`,
    )
  } finally {
    await client.end()
  }
}

const LOCK = sql`SELECT pg_advisory_xact_lock(hashtextextended('atrium.grants', 0))`

/** Whether a role lacks something that the server needs in these schemas, or may change what is append-only. */
async function needsGrants(
  db: Kysely<unknown>,
  role: string,
  sets: readonly MigrationSet[],
): Promise<boolean> {
  const appendOnly = sets.flatMap(({ schema, appendOnly: names = [] }) =>
    names.map((name) => `${schema}.${name}`),
  )
  const { rows } = await sql<{ needs: boolean }>`
    SELECT coalesce(bool_or(
      NOT has_schema_privilege(${role}, n.oid, 'USAGE') OR CASE
        WHEN c.relkind = 'S' THEN NOT has_sequence_privilege(${role}, c.oid, 'USAGE')
        WHEN n.nspname || '.' || c.relname = ANY (${appendOnly}) THEN
          NOT has_table_privilege(${role}, c.oid, 'SELECT') OR NOT has_table_privilege(${role}, c.oid, 'INSERT')
            OR has_table_privilege(${role}, c.oid, 'UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER')
        ELSE NOT (has_table_privilege(${role}, c.oid, 'SELECT') AND has_table_privilege(${role}, c.oid, 'INSERT')
          AND has_table_privilege(${role}, c.oid, 'UPDATE') AND has_table_privilege(${role}, c.oid, 'DELETE'))
      END), false) AS needs
      FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
     WHERE n.nspname = ANY (${sets.map(({ schema }) => schema)}) AND c.relkind IN ('r', 'p', 'v', 'S')`.execute(
    db,
  )
  return rows[0]?.needs === true
}

/**
 * Gives the server's role what it needs of the owner's schemas: rows of every table, but only reading and adding where
 * a set says that a table is append-only. What later migrations make is granted by the next call.
 * @param owner connected as the role that the schemas belong to
 */
export async function grantToServer(
  owner: pg.Pool,
  role: string,
  sets: readonly MigrationSet[],
): Promise<void> {
  const db: Kysely<unknown> = createDatabase(owner)
  await db.transaction().execute(async (trx) => {
    // Grants of two processes at once would trip over each other's rows of the catalogue.
    await LOCK.execute(trx)
    if (!(await needsGrants(trx, role, sets))) return
    const to = sql.id(role)
    for (const { schema, appendOnly = [] } of sets) {
      const name = sql.id(schema)
      await sql`GRANT USAGE ON SCHEMA ${name} TO ${to}`.execute(trx)
      await sql`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${name} TO ${to}`.execute(trx)
      await sql`GRANT USAGE ON ALL SEQUENCES IN SCHEMA ${name} TO ${to}`.execute(trx)
      for (const table of appendOnly) {
        const qualified = sql.id(schema, table)
        await sql`REVOKE ALL ON ${qualified} FROM ${to}`.execute(trx)
        await sql`GRANT SELECT, INSERT ON ${qualified} TO ${to}`.execute(trx)
      }
    }
  })
}

/** Makes the schema of the jobs and gives it to the server's role, with all that an older release made in it. */
export async function giveJobsTo(owner: pg.Pool, role: string): Promise<void> {
  const db: Kysely<unknown> = createDatabase(owner)
  await db.transaction().execute(async (trx) => {
    await LOCK.execute(trx)
    const { rows } = await sql<{ isThere: boolean; isOwner: boolean }>`
      SELECT EXISTS (SELECT FROM pg_namespace WHERE nspname = ${JOBS_SCHEMA}) AS "isThere",
             current_user = ${role} AS "isOwner"`.execute(trx)
    if (rows[0]?.isThere !== true) await sql`CREATE SCHEMA ${sql.id(JOBS_SCHEMA)}`.execute(trx)
    if (rows[0]?.isOwner === true) return
    await sql`GRANT USAGE, CREATE ON SCHEMA ${sql.id(JOBS_SCHEMA)} TO ${sql.id(role)}`.execute(trx)
    const { rows: foreign } = await sql<{ statement: string }>`
      SELECT format('ALTER %s %I.%I OWNER TO %I', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END,
               n.nspname, c.relname, ${role}::text) AS statement
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
       WHERE n.nspname = ${JOBS_SCHEMA} AND c.relkind IN ('r', 'p', 'S') AND pg_get_userbyid(c.relowner) <> ${role}
         AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i') AND c.relkind = 'S')
      UNION ALL
      SELECT format('ALTER ROUTINE %s OWNER TO %I', p.oid::regprocedure, ${role}::text)
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
       WHERE n.nspname = ${JOBS_SCHEMA} AND pg_get_userbyid(p.proowner) <> ${role}
      UNION ALL
      SELECT format('ALTER TYPE %I.%I OWNER TO %I', n.nspname, t.typname, ${role}::text)
        FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
       WHERE n.nspname = ${JOBS_SCHEMA} AND t.typtype = 'e' AND pg_get_userbyid(t.typowner) <> ${role}`.execute(
      trx,
    )
    for (const { statement } of foreign) await sql.raw(statement).execute(trx)
  })
}

/**
 * Why the role of this connection could change a table that is append-only, undefined when it cannot.
 * @throws OperatorError when there is no such table
 */
export async function doubtAbout(pool: pg.Pool, schema: string, table: string): Promise<string | undefined> {
  const { rows } = await pool.query<{ role: string; super: boolean; member: boolean; granted: boolean }>(
    `SELECT current_user AS role, r.rolsuper AS super, pg_has_role(current_user, c.relowner, 'MEMBER') AS member,
            has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE, TRIGGER') AS granted
       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, pg_roles r
      WHERE n.nspname = $1 AND c.relname = $2 AND r.rolname = current_user`,
    [schema, table],
  )
  const [row] = rows
  if (row === undefined) throw new OperatorError(`The database has no table ${schema}.${table}`)
  if (row.super) return `role ${row.role} is a PostgreSQL superuser`
  if (row.member) return `role ${row.role} owns it`
  return row.granted ? `role ${row.role} was granted more than reading and adding` : undefined
}
