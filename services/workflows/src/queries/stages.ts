import { type Selectable, sql } from '@atrium/kernel/db'
import type { Stage, StageAssignmentsTable, WorkflowsDb } from './tables.ts'

export type StageAssignmentRow = Selectable<StageAssignmentsTable>

export interface NewAssignment {
  readonly versionId: string
  readonly configurationId: string | null
  readonly assignedBy: string
}

/** @throws the foreign-key violation of a version or configuration that is not there */
export async function insertAssignment(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  stage: Stage,
  { versionId, configurationId, assignedBy }: NewAssignment,
): Promise<StageAssignmentRow | undefined> {
  return db
    .insertInto('workflows.stage_assignments')
    .values({
      space_id: spaceId,
      workflow_id: workflowId,
      stage,
      version_id: versionId,
      configuration_id: configurationId,
      assigned_by: assignedBy,
    })
    .onConflict((conflict) => conflict.columns(['space_id', 'workflow_id', 'stage']).doNothing())
    .returningAll()
    .executeTakeFirst()
}

/** @returns undefined when there is none, or none of these versions @throws as `insertAssignment` */
export async function updateAssignment(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  stage: Stage,
  { versionId, configurationId, assignedBy }: NewAssignment,
  versions: readonly number[] | undefined,
): Promise<StageAssignmentRow | undefined> {
  return db
    .updateTable('workflows.stage_assignments')
    .set({
      version_id: versionId,
      configuration_id: configurationId,
      assigned_by: assignedBy,
      assigned_at: sql<Date>`now()`,
      row_version: sql<number>`row_version + 1`,
    })
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('stage', '=', stage)
    .$if(versions !== undefined, (query) => query.where('row_version', 'in', versions ?? []))
    .returningAll()
    .executeTakeFirst()
}

export async function selectAssignment(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  stage: Stage,
): Promise<StageAssignmentRow | undefined> {
  return db
    .selectFrom('workflows.stage_assignments')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('stage', '=', stage)
    .executeTakeFirst()
}

/** All of a workflow: as many as there are stages. */
export async function selectAssignments(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
): Promise<StageAssignmentRow[]> {
  return db
    .selectFrom('workflows.stage_assignments')
    .selectAll()
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .execute()
}

/** @returns undefined when there was none of these versions */
export async function deleteAssignment(
  db: WorkflowsDb,
  spaceId: string,
  workflowId: string,
  stage: Stage,
  versions: readonly number[] | undefined,
): Promise<StageAssignmentRow | undefined> {
  return db
    .deleteFrom('workflows.stage_assignments')
    .where('space_id', '=', spaceId)
    .where('workflow_id', '=', workflowId)
    .where('stage', '=', stage)
    .$if(versions !== undefined, (query) => query.where('row_version', 'in', versions ?? []))
    .returningAll()
    .executeTakeFirst()
}
