import type pg from 'pg'
import { createDatabase, sql } from '../db/index.ts'
import type { MasterKey } from './master-key.ts'

/** A column of sealed values. Each service lists its own: whatever the master key seals must be re-sealed some day. */
export interface SealedColumn {
  readonly schema: string
  readonly table: string
  readonly column: string
  /** The table's key, one column of text; it orders the batches. */
  readonly key: string
  /** What the value of the row with this key was sealed for. */
  purposeOf(key: string): string
}

const BATCH = 200

interface Row {
  readonly key: string
  readonly sealed: Buffer
}

/**
 * Seals every value of a column anew that the current key did not seal, in short transactions: what was done stays done
 * if the process ends, and the platform goes on meanwhile.
 * @returns how many there were
 */
export async function reseal(pool: pg.Pool, masterKey: MasterKey, column: SealedColumn): Promise<number> {
  const db = createDatabase<unknown>(pool)
  const table = sql.id(column.schema, column.table)
  const [key, value] = [sql.id(column.key), sql.id(column.column)]
  let count = 0
  for (let after = ''; ; ) {
    const rows = await db.transaction().execute(async (trx) => {
      const found = await sql<Row>`
        SELECT ${key}::text AS key, ${value} AS sealed FROM ${table}
         WHERE ${key}::text > ${after} AND ${value} IS NOT NULL ORDER BY ${key}::text LIMIT ${BATCH} FOR UPDATE`.execute(
        trx,
      )
      for (const row of found.rows.filter(({ sealed }) => !masterKey.isCurrent(sealed))) {
        const purpose = column.purposeOf(row.key)
        const sealed = masterKey.seal(purpose, masterKey.open(purpose, row.sealed))
        await sql`UPDATE ${table} SET ${value} = ${sealed} WHERE ${key}::text = ${row.key}`.execute(trx)
        count++
      }
      return found.rows
    })
    const last = rows.at(-1)
    if (last === undefined) return count
    after = last.key
  }
}

/** How many values of a column the current key did not seal. */
export async function countForeign(
  pool: pg.Pool,
  masterKey: MasterKey,
  column: SealedColumn,
): Promise<number> {
  const db = createDatabase<unknown>(pool)
  const table = sql.id(column.schema, column.table)
  const [key, value] = [sql.id(column.key), sql.id(column.column)]
  let count = 0
  for (let after = ''; ; ) {
    const { rows } = await sql<Row>`
      SELECT ${key}::text AS key, ${value} AS sealed FROM ${table}
       WHERE ${key}::text > ${after} AND ${value} IS NOT NULL ORDER BY ${key}::text LIMIT ${BATCH}`.execute(
      db,
    )
    const last = rows.at(-1)
    if (last === undefined) return count
    count += rows.filter(({ sealed }) => !masterKey.isCurrent(sealed)).length
    after = last.key
  }
}
