import type { Act } from '@atrium/access'
import { isForeignKeyViolation } from '@atrium/kernel/db'
import { invalidInput, preconditionFailed } from '@atrium/kernel/errors'
import type { WorkflowsContext } from '../context.ts'
import { type ListQuery, STAGES } from '../contract/common.ts'
import { configurationBound, configurationNotFound, missed, workflowNotFound } from '../errors.ts'
import {
  type ConfigurationRow,
  countConfigurations,
  deleteConfigurationRow,
  insertConfiguration,
  readConfigurations,
  selectConfiguration,
  updateConfiguration,
} from '../queries/configurations.ts'
import { selectAssignments } from '../queries/stages.ts'
import { selectWorkflow } from '../queries/workflows.ts'
import { begun, type Found } from './begun.ts'
import { demandRoom } from './quotas.ts'
import { anyOf, type Upsertable } from './upsertable.ts'

type Ctx = Pick<WorkflowsContext, 'db' | 'audit' | 'env'>
type Data = Readonly<Record<string, string>>

/** Of all keys and values of a configuration, in bytes of UTF-8. */
export const LARGEST_CONFIGURATION = 1_048_576

/** What names a configuration. */
export interface ConfigurationRef {
  readonly spaceId: string
  readonly workflowId: string
  readonly configurationId: string
}

/** As the audit log shows it: by its keys. */
const shown = ({ workflow_id, data, row_version }: ConfigurationRow) => ({
  workflowId: workflow_id,
  keys: Object.keys(data).slice(0, 100),
  version: row_version,
})

const entryOf = ({ spaceId, configurationId }: ConfigurationRef) => ({
  spaceId,
  resourceType: 'workflow_configuration',
  resourceId: configurationId,
})

/** @throws AppError 400 */
function demandFit(data: Data): void {
  let bytes = 0
  for (const [key, value] of Object.entries(data)) bytes += Buffer.byteLength(key) + Buffer.byteLength(value)
  if (bytes > LARGEST_CONFIGURATION)
    throw invalidInput('body.data', `has ${bytes} bytes; at most ${LARGEST_CONFIGURATION} are possible`)
}

/**
 * Makes a configuration, or replaces the one of this id.
 * @returns and whether it is new
 * @throws AppError 400, 404 without such a workflow, 409 where the space has as many as it may, 412
 */
export async function putConfiguration(
  ctx: Ctx,
  ref: ConfigurationRef,
  data: Data,
  act: Act,
  versions: Upsertable,
): Promise<{ row: ConfigurationRow; isNew: boolean }> {
  const { spaceId, workflowId, configurationId } = ref
  if ((await selectWorkflow(ctx.db, spaceId, workflowId)) === undefined) throw workflowNotFound(workflowId)
  demandFit(data)
  return ctx.db
    .transaction()
    .execute(async (trx) => {
      const made =
        versions === undefined
          ? await insertConfiguration(trx, spaceId, workflowId, configurationId, data)
          : undefined
      if (made !== undefined) await demandRoom(ctx, trx, 'configurations', spaceId)
      const row =
        made ?? (await updateConfiguration(trx, spaceId, workflowId, configurationId, data, anyOf(versions)))
      if (row === undefined) throw preconditionFailed()
      await ctx.audit.record(trx, act, { ...entryOf(ref), after: shown(row) })
      return { row, isNew: made !== undefined }
    })
    .catch((error: unknown) => {
      throw isForeignKeyViolation(error) ? workflowNotFound(workflowId) : error
    })
}

/** @throws AppError 404 */
export async function getConfiguration(
  { db }: Pick<Ctx, 'db'>,
  { spaceId, workflowId, configurationId }: ConfigurationRef,
): Promise<ConfigurationRow> {
  const row = await selectConfiguration(db, spaceId, workflowId, configurationId)
  if (row === undefined) throw configurationNotFound(configurationId)
  return row
}

/** @throws AppError 404 without such a workflow */
export async function listConfigurations(
  { db }: Pick<Ctx, 'db'>,
  spaceId: string,
  workflowId: string,
  query: ListQuery,
): Promise<Found<ConfigurationRow>> {
  if ((await selectWorkflow(db, spaceId, workflowId)) === undefined) throw workflowNotFound(workflowId)
  const [rows, total] = await Promise.all([
    begun(readConfigurations(db, spaceId, workflowId, query)),
    countConfigurations(db, spaceId, workflowId),
  ])
  return { rows, total }
}

/** @throws AppError 404, 409 while it is bound to a stage, 412 */
export async function deleteConfiguration(
  ctx: Ctx,
  ref: ConfigurationRef,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  const { spaceId, workflowId, configurationId } = ref
  await ctx.db
    .transaction()
    .execute(async (trx) => {
      const before = await deleteConfigurationRow(trx, spaceId, workflowId, configurationId, versions)
      if (before === undefined) {
        const row = await selectConfiguration(trx, spaceId, workflowId, configurationId)
        throw missed(row !== undefined, configurationNotFound(configurationId))
      }
      await ctx.audit.record(trx, act, { ...entryOf(ref), before: shown(before) })
    })
    .catch(async (error: unknown) => {
      if (!isForeignKeyViolation(error)) throw error
      const assignments = await selectAssignments(ctx.db, spaceId, workflowId)
      const bound = assignments.filter(({ configuration_id: id }) => id === configurationId)
      throw configurationBound(
        configurationId,
        STAGES.filter((stage) => bound.some((one) => one.stage === stage)),
      )
    })
}
