import { type Selectable, sql } from '@atrium/kernel/db'
import { type Listing, type Paging, readInBatches } from './listing.ts'
import type { ConfigurationsTable, WorkflowsDb } from './tables.ts'

export type ConfigurationRow = Selectable<ConfigurationsTable>

type Data = Readonly<Record<string, string>>

/** @returns undefined when there is one already @throws the foreign-key violation of a workflow that is gone */
export async function insertConfiguration(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  configurationId: string,
  data: Data,
): Promise<ConfigurationRow | undefined> {
  return db
    .insertInto('workflows.configurations')
    .values({
      space_id: spaceId,
      workflow_id: workflowId,
      configuration_id: configurationId,
      data: JSON.stringify(data),
    })
    .onConflict((conflict) => conflict.columns(['space_id', 'workflow_id', 'configuration_id']).doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** @returns undefined when there is none, or none of these versions */
export async function updateConfiguration(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  configurationId: string,
  data: Data,
  versions: readonly number[] | undefined,
): Promise<ConfigurationRow | undefined> {
  return db
    .updateTable('workflows.configurations')
    .set({
      data: JSON.stringify(data),
      row_version: sql<number>`row_version + 1`,
      updated_at: sql<Date>`now()`,
    })
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('configuration_id', '=', configurationId)
    .$if(versions !== undefined, (query) => query.where('row_version', 'in', versions ?? []))
    .returningAll()
    .executeTakeFirst()
}

export async function selectConfiguration(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  configurationId: string,
): Promise<ConfigurationRow | undefined> {
  return db
    .selectFrom('workflows.configurations')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('configuration_id', '=', configurationId)
    .executeTakeFirst()
}

/**
 * @returns undefined when there was none of these versions
 * @throws the foreign-key violation of one that is bound to a stage
 */
export async function deleteConfigurationRow(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  configurationId: string,
  versions: readonly number[] | undefined,
): Promise<ConfigurationRow | undefined> {
  return db
    .deleteFrom('workflows.configurations')
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('configuration_id', '=', configurationId)
    .$if(versions !== undefined, (query) => query.where('row_version', 'in', versions ?? []))
    .returningAll()
    .executeTakeFirst()
}

const listingOf = (spaceId: string, workflowId: string): Listing => ({
  table: sql`workflows.configurations`,
  where: [sql`space_id = ${spaceId}`, sql`workflow_id = ${workflowId}`],
  id: sql.ref('configuration_id'),
  size: sql.ref('size'),
})

export const readConfigurations = (
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  paging: Paging,
): AsyncGenerator<ConfigurationRow[]> =>
  readInBatches<ConfigurationRow>(db, listingOf(spaceId, workflowId), paging)

export async function countConfigurations(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
): Promise<number> {
  const { total } = await db
    .selectFrom('workflows.configurations')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .executeTakeFirstOrThrow()
  return total
}
