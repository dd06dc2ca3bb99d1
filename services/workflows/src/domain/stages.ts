import type { Act } from '@atrium/access'
import { isForeignKeyViolation } from '@atrium/kernel/db'
import { type AppError, preconditionFailed } from '@atrium/kernel/errors'
import type { WorkflowsContext } from '../context.ts'
import { STAGES, type Stage } from '../contract/common.ts'
import type { StageInput } from '../contract/stages.ts'
import {
  configurationNotFound,
  missed,
  stageNotAssigned,
  versionNotFound,
  workflowNotFound,
} from '../errors.ts'
import { selectConfiguration } from '../queries/configurations.ts'
import {
  deleteAssignment,
  insertAssignment,
  type StageAssignmentRow,
  selectAssignment,
  selectAssignments,
  updateAssignment,
} from '../queries/stages.ts'
import { selectVersion } from '../queries/versions.ts'
import { selectWorkflow } from '../queries/workflows.ts'
import { anyOf, type Upsertable } from './upsertable.ts'

type Ctx = Pick<WorkflowsContext, 'db' | 'audit'>

/** What names an assignment; `stage` may be any text where it only reads. */
export interface StageRef<S extends string = string> {
  readonly spaceId: string
  readonly workflowId: string
  readonly stage: S
}

const isStage = (text: string): text is Stage => (STAGES as readonly string[]).includes(text)

const shown = ({ version_id, configuration_id, row_version }: StageAssignmentRow) => ({
  versionId: version_id,
  configurationId: configuration_id,
  version: row_version,
})

const entryOf = ({ spaceId, workflowId, stage }: StageRef) => ({
  spaceId,
  resourceType: 'stage_assignment',
  resourceId: `${workflowId}/${stage}`,
})

/** What an assignment refers to and is not there; undefined when all is. */
async function absentOf(
  { db }: Pick<Ctx, 'db'>,
  { spaceId, workflowId }: StageRef,
  { versionId, configurationId }: StageInput,
): Promise<AppError | undefined> {
  if ((await selectWorkflow(db, spaceId, workflowId)) === undefined) return workflowNotFound(workflowId)
  if ((await selectVersion(db, spaceId, workflowId, versionId)) === undefined)
    return versionNotFound(versionId)
  if (configurationId === undefined || configurationId === null) return undefined
  const row = await selectConfiguration(db, spaceId, workflowId, configurationId)
  return row === undefined ? configurationNotFound(configurationId) : undefined
}

/**
 * Promotes a version to a stage, in place of what was there.
 * @returns and whether nothing was there
 * @throws AppError 404 when workflow, version or configuration is not there, 412
 */
export async function assignStage(
  ctx: Ctx,
  ref: StageRef<Stage>,
  input: StageInput,
  act: Act,
  versions: Upsertable,
): Promise<{ row: StageAssignmentRow; isNew: boolean }> {
  const { spaceId, workflowId, stage } = ref
  const absent = await absentOf(ctx, ref, input)
  if (absent !== undefined) throw absent
  const { versionId, configurationId = null } = input
  const assignment = { versionId, configurationId, assignedBy: act.qxId }
  return ctx.db
    .transaction()
    .execute(async (trx) => {
      const before = await selectAssignment(trx, spaceId, workflowId, stage)
      const made =
        versions === undefined
          ? await insertAssignment(trx, spaceId, workflowId, stage, assignment)
          : undefined
      const row =
        made ?? (await updateAssignment(trx, spaceId, workflowId, stage, assignment, anyOf(versions)))
      if (row === undefined) throw preconditionFailed()
      await ctx.audit.record(trx, act, {
        ...entryOf(ref),
        before: before && shown(before),
        after: shown(row),
      })
      return { row, isNew: made !== undefined }
    })
    .catch(async (error: unknown) => {
      // It went between the look and the change.
      if (!isForeignKeyViolation(error)) throw error
      throw (await absentOf(ctx, ref, input)) ?? error
    })
}

/** @throws AppError 404 where nothing is assigned */
export async function getStage(
  { db }: Pick<Ctx, 'db'>,
  { spaceId, workflowId, stage }: StageRef,
): Promise<StageAssignmentRow> {
  const row = isStage(stage) ? await selectAssignment(db, spaceId, workflowId, stage) : undefined
  if (row === undefined) throw stageNotAssigned(stage)
  return row
}

/** In the order of promotion. @throws AppError 404 without such a workflow */
export async function listStages(
  { db }: Pick<Ctx, 'db'>,
  spaceId: string,
  workflowId: string,
): Promise<StageAssignmentRow[]> {
  if ((await selectWorkflow(db, spaceId, workflowId)) === undefined) throw workflowNotFound(workflowId)
  const rows = await selectAssignments(db, spaceId, workflowId)
  return rows.toSorted((a, b) => STAGES.indexOf(a.stage) - STAGES.indexOf(b.stage))
}

/** @throws AppError 404 where nothing is assigned, 412 */
export async function unassignStage(
  ctx: Ctx,
  ref: StageRef,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  const { spaceId, workflowId, stage } = ref
  if (!isStage(stage)) throw stageNotAssigned(stage)
  await ctx.db.transaction().execute(async (trx) => {
    const before = await deleteAssignment(trx, spaceId, workflowId, stage, versions)
    if (before === undefined) {
      const row = await selectAssignment(trx, spaceId, workflowId, stage)
      throw missed(row !== undefined, stageNotAssigned(stage))
    }
    await ctx.audit.record(trx, act, { ...entryOf(ref), before: shown(before) })
  })
}
