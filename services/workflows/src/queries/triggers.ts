import { type Selectable, sql } from '@atrium/kernel/db'
import { type Paging, readInBatches } from './listing.ts'
import type { Stage, TriggersTable, WorkflowsDb } from './tables.ts'

export type TriggerRow = Selectable<TriggersTable>

export interface TriggerPath {
  readonly spaceId: string
  readonly workflowId: string
  readonly triggerId: string
}

export interface TriggerFields {
  readonly type: 'webhook' | 'schedule'
  readonly stage: Stage
  readonly enabled: boolean
  readonly signatureValidation: boolean
  readonly schedule: string | null
  readonly timezone: string
  readonly secretHash: Buffer | null
  readonly nextAt: Date | null
}

const columnsOf = (fields: TriggerFields) => ({
  type: fields.type,
  stage: fields.stage,
  enabled: fields.enabled,
  signature_validation: fields.signatureValidation,
  schedule: fields.schedule,
  timezone: fields.timezone,
  secret_hash: fields.secretHash,
  next_at: fields.nextAt,
})

/** @returns undefined when there is one already @throws the foreign-key violation of a workflow that is gone */
export async function insertTrigger(
  db: WorkflowsDb,
  { spaceId, workflowId, triggerId }: TriggerPath,
  fields: TriggerFields,
): Promise<TriggerRow | undefined> {
  return db
    .insertInto('workflows.triggers')
    .values({ space_id: spaceId, workflow_id: workflowId, trigger_id: triggerId, ...columnsOf(fields) })
    .onConflict((conflict) => conflict.columns(['space_id', 'workflow_id', 'trigger_id']).doNothing())
    .returningAll()
    .executeTakeFirst()
}

const changed = () => ({ row_version: sql<number>`row_version + 1`, updated_at: sql<Date>`now()` })

/** The caller holds the row. */
export async function updateTrigger(
  db: WorkflowsDb,
  { spaceId, workflowId, triggerId }: TriggerPath,
  fields: TriggerFields,
): Promise<TriggerRow> {
  return db
    .updateTable('workflows.triggers')
    .set({ ...columnsOf(fields), ...changed() })
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('trigger_id', '=', triggerId)
    .returningAll()
    .executeTakeFirstOrThrow()
}

const one = (db: WorkflowsDb, { spaceId, workflowId, triggerId }: TriggerPath) =>
  db
    .selectFrom('workflows.triggers')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('trigger_id', '=', triggerId)

export const selectTrigger = (db: WorkflowsDb, path: TriggerPath): Promise<TriggerRow | undefined> =>
  one(db, path).executeTakeFirst()

/** The same, held until the transaction ends. */
export const lockTrigger = (trx: WorkflowsDb, path: TriggerPath): Promise<TriggerRow | undefined> =>
  one(trx, path).forUpdate().executeTakeFirst()

export async function deleteTriggerRow(
  db: WorkflowsDb,
  { spaceId, workflowId, triggerId }: TriggerPath,
): Promise<void> {
  await db
    .deleteFrom('workflows.triggers')
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('trigger_id', '=', triggerId)
    .execute()
}

export const readTriggers = (
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  paging: Paging,
): AsyncGenerator<TriggerRow[]> =>
  readInBatches<TriggerRow>(
    db,
    {
      table: sql`workflows.triggers`,
      where: [sql`space_id = ${spaceId}`, sql`workflow_id = ${workflowId}`],
      id: sql.ref('trigger_id'),
      size: sql`coalesce(octet_length(schedule), 0) + 200`,
    },
    paging,
  )

export async function countTriggers(db: WorkflowsDb, spaceId: string, workflowId: string): Promise<number> {
  const { total } = await db
    .selectFrom('workflows.triggers')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .executeTakeFirstOrThrow()
  return total
}

/** The enabled webhook of a secret. */
export async function selectWebhook(db: WorkflowsDb, secretHash: Buffer): Promise<TriggerRow | undefined> {
  return db
    .selectFrom('workflows.triggers')
    .selectAll()
    .where('secret_hash', '=', secretHash)
    .where('type', '=', 'webhook')
    .where('enabled', '=', true)
    .executeTakeFirst()
}

export interface DueTrigger extends TriggerRow {
  /** The database's clock, which is the same for every process. */
  readonly now: Date
}

/** Spaces with schedules whose tick is due; those that wait longest first. */
export async function selectSpacesWithDueTriggers(db: WorkflowsDb, most: number): Promise<string[]> {
  const { rows } = await sql<{ space_id: string }>`
    SELECT space_id FROM workflows.triggers WHERE next_at <= now()
     GROUP BY space_id ORDER BY min(next_at) LIMIT ${most}`.execute(db)
  return rows.map(({ space_id }) => space_id)
}

/** A schedule of a space whose tick is due, which no other process takes until the transaction ends; the one due longest. */
export async function lockDueTrigger(trx: WorkflowsDb, spaceId: string): Promise<DueTrigger | undefined> {
  const { rows } = await sql<DueTrigger>`
    SELECT *, now() AS now FROM workflows.triggers WHERE space_id = ${spaceId} AND next_at <= now()
     ORDER BY next_at LIMIT 1 FOR UPDATE SKIP LOCKED`.execute(trx)
  return rows[0]
}

/** Says when a schedule fires next; null: never. */
export async function setNextTick(
  db: WorkflowsDb,
  { space_id, workflow_id, trigger_id }: Pick<TriggerRow, 'space_id' | 'workflow_id' | 'trigger_id'>,
  nextAt: Date | null,
): Promise<void> {
  await db
    .updateTable('workflows.triggers')
    .set({ next_at: nextAt })
    .where('space_id', '=', space_id)
    .where('workflow_id', '=', workflow_id)
    .where('trigger_id', '=', trigger_id)
    .execute()
}

/** Notes why the tick at hand made no run; null: it made one. The caller holds the row. */
export async function setRefusal(
  trx: WorkflowsDb,
  { space_id, workflow_id, trigger_id }: Pick<TriggerRow, 'space_id' | 'workflow_id' | 'trigger_id'>,
  refusal: string | null,
): Promise<void> {
  await trx
    .updateTable('workflows.triggers')
    .set({ refusal })
    .where('space_id', '=', space_id)
    .where('workflow_id', '=', workflow_id)
    .where('trigger_id', '=', trigger_id)
    .execute()
}

/** Whether a stage has both a version and a configuration assigned. */
export async function isStageReady(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  stage: Stage,
): Promise<boolean> {
  const row = await db
    .selectFrom('workflows.stage_assignments')
    .select('configuration_id')
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('stage', '=', stage)
    .executeTakeFirst()
  return row?.configuration_id != null
}
