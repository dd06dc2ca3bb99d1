import { type Selectable, sql } from '@atrium/kernel/db'
import { type Listing, type Paging, readInBatches } from './listing.ts'
import type { SecretsTable, WorkflowsDb } from './tables.ts'

/** Without the value: who shows secrets has no use for it. */
export type SecretRow = Omit<Selectable<SecretsTable>, 'sealed' | 'secret_id'>

const SHOWN = ['space_id', 'name', 'row_version', 'created_at', 'updated_at', 'updated_by'] as const

export interface NewSecret {
  readonly sealed: Buffer
  readonly updatedBy: string
}

/** @returns undefined when there is one already @throws the foreign-key violation of a space that is gone */
export async function insertSecret(
  db: WorkflowsDb,
  spaceId: string,
  name: string,
  { sealed, updatedBy }: NewSecret,
): Promise<SecretRow | undefined> {
  return db
    .insertInto('workflows.secrets')
    .values({ space_id: spaceId, name, sealed, updated_by: updatedBy })
    .onConflict((conflict) => conflict.columns(['space_id', 'name']).doNothing())
    .returning(SHOWN)
    .executeTakeFirst()
}

/** @returns undefined when there is none, or none of these versions */
export async function updateSecret(
  db: WorkflowsDb,
  spaceId: string,
  name: string,
  { sealed, updatedBy }: NewSecret,
  versions: readonly number[] | undefined,
): Promise<SecretRow | undefined> {
  return db
    .updateTable('workflows.secrets')
    .set({
      sealed,
      updated_by: updatedBy,
      row_version: sql<number>`row_version + 1`,
      updated_at: sql<Date>`now()`,
    })
    .where('space_id', '=', spaceId)
    .where('name', '=', name)
    .$if(versions !== undefined, (query) => query.where('row_version', 'in', versions ?? []))
    .returning(SHOWN)
    .executeTakeFirst()
}

export async function selectSecret(
  db: WorkflowsDb,
  spaceId: string,
  name: string,
): Promise<SecretRow | undefined> {
  return db
    .selectFrom('workflows.secrets')
    .select(SHOWN)
    .where('space_id', '=', spaceId)
    .where('name', '=', name)
    .executeTakeFirst()
}

/** @returns undefined when there was none of these versions */
export async function deleteSecretRow(
  db: WorkflowsDb,
  spaceId: string,
  name: string,
  versions: readonly number[] | undefined,
): Promise<SecretRow | undefined> {
  return db
    .deleteFrom('workflows.secrets')
    .where('space_id', '=', spaceId)
    .where('name', '=', name)
    .$if(versions !== undefined, (query) => query.where('row_version', 'in', versions ?? []))
    .returning(SHOWN)
    .executeTakeFirst()
}

/** Sealed values of those that exist. */
export async function selectSealed(
  db: WorkflowsDb,
  spaceId: string,
  names: readonly string[],
): Promise<{ name: string; sealed: Buffer }[]> {
  if (names.length === 0) return []
  return db
    .selectFrom('workflows.secrets')
    .select(['name', 'sealed'])
    .where('space_id', '=', spaceId)
    .where('name', 'in', names)
    .execute()
}

const listingOf = (spaceId: string): Listing => ({
  table: sql`(SELECT ${sql.join(SHOWN.map((column) => sql.ref(column)))} FROM workflows.secrets) AS secrets`,
  where: [sql`space_id = ${spaceId}`],
  id: sql.ref('name'),
  size: sql`octet_length(name)`,
})

export const readSecrets = (db: WorkflowsDb, spaceId: string, paging: Paging): AsyncGenerator<SecretRow[]> =>
  readInBatches<SecretRow>(db, listingOf(spaceId), paging)

export async function countSecrets(db: WorkflowsDb, spaceId: string): Promise<number> {
  const { total } = await db
    .selectFrom('workflows.secrets')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('space_id', '=', spaceId)
    .executeTakeFirstOrThrow()
  return total
}
