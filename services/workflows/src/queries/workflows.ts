import { deleteInParts, type RawBuilder, type Selectable, sql } from '@atrium/kernel/db'
import { type Paging, readInBatches } from './listing.ts'
import type { WorkflowsDb, WorkflowsTable } from './tables.ts'

export type WorkflowRow = Selectable<WorkflowsTable>

export interface WorkflowFields {
  readonly name: string
  /** Undefined leaves it as it is. */
  readonly maxParallelRuns: number | null | undefined
}

const nextVersion = (): RawBuilder<number> => sql<number>`row_version + 1`

/**
 * @returns undefined when there is one already
 * @throws the foreign-key violation of a space that is gone
 */
export async function insertWorkflow(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  { name, maxParallelRuns = null }: WorkflowFields,
): Promise<WorkflowRow | undefined> {
  return db
    .insertInto('workflows.workflows')
    .values({ space_id: spaceId, workflow_id: workflowId, name, max_parallel_runs: maxParallelRuns })
    .onConflict((conflict) => conflict.columns(['space_id', 'workflow_id']).doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** @returns undefined when there is none, or none of these versions */
export async function updateWorkflow(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  { name, maxParallelRuns }: WorkflowFields,
  versions: readonly number[] | undefined,
): Promise<WorkflowRow | undefined> {
  return db
    .updateTable('workflows.workflows')
    .set({
      name,
      ...(maxParallelRuns === undefined ? {} : { max_parallel_runs: maxParallelRuns }),
      row_version: nextVersion(),
      updated_at: sql<Date>`now()`,
    })
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .$if(versions !== undefined, (query) => query.where('row_version', 'in', versions ?? []))
    .returningAll()
    .executeTakeFirst()
}

export async function selectWorkflow(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
): Promise<WorkflowRow | undefined> {
  return db
    .selectFrom('workflows.workflows')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .executeTakeFirst()
}

/**
 * The same, held until the transaction ends.
 * @param strength `update` for whoever deletes it: nobody can begin a run of it meanwhile; `key share` for whoever adds
 *   something below it
 */
export async function lockWorkflow(
  trx: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  strength: 'update' | 'key share',
): Promise<WorkflowRow | undefined> {
  const query = trx
    .selectFrom('workflows.workflows')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
  return (strength === 'update' ? query.forUpdate() : query.forKeyShare()).executeTakeFirst()
}

/** Deletes a workflow with all below it. Of its runs so many at a time that no statement takes long. */
export async function deleteWorkflowRow(db: WorkflowsDb, spaceId: string, workflowId: string): Promise<void> {
  const isOfWorkflow = sql`space_id = ${spaceId} AND workflow_id = ${workflowId}`
  await deleteInParts(db, 'workflows.runs', isOfWorkflow)
  await db
    .deleteFrom('workflows.workflows')
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .execute()
}

const listingOf = (spaceId: string) => ({
  table: sql`workflows.workflows`,
  where: [sql`space_id = ${spaceId}`],
  id: sql.ref('workflow_id'),
  size: sql`octet_length(name)`,
})

export const readWorkflows = (
  db: WorkflowsDb,
  spaceId: string,
  paging: Paging,
): AsyncGenerator<WorkflowRow[]> => readInBatches<WorkflowRow>(db, listingOf(spaceId), paging)

export async function countWorkflows(db: WorkflowsDb, spaceId: string): Promise<number> {
  const { total } = await db
    .selectFrom('workflows.workflows')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('space_id', '=', spaceId)
    .executeTakeFirstOrThrow()
  return total
}
