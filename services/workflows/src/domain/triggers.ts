import { createHash, randomBytes } from 'node:crypto'
import type { Act } from '@atrium/access'
import { invalidInput, preconditionFailed } from '@atrium/kernel/errors'
import type { WorkflowsContext } from '../context.ts'
import type { ListQuery } from '../contract/common.ts'
import type { TriggerInput } from '../contract/triggers.ts'
import {
  invokedStageHasNoVersion,
  notAWebhook,
  stageNotReady,
  triggerNotFound,
  workflowNotFound,
} from '../errors.ts'
import type { FullRunRow } from '../queries/runs.ts'
import type { WorkflowsDb } from '../queries/tables.ts'
import {
  countTriggers,
  deleteTriggerRow,
  insertTrigger,
  isStageReady,
  lockTrigger,
  readTriggers,
  selectTrigger,
  type TriggerFields,
  type TriggerPath,
  type TriggerRow,
  updateTrigger,
} from '../queries/triggers.ts'
import { lockWorkflow, selectWorkflow } from '../queries/workflows.ts'
import { begun, type Found } from './begun.ts'
import { demandRoom } from './quotas.ts'
import { createRun } from './runs/create-run.ts'
import { demandSchedule, nextTick } from './schedule/cron.ts'
import { anyOf, type Upsertable } from './upsertable.ts'

type Ctx = Pick<WorkflowsContext, 'db' | 'audit' | 'publicUrl' | 'env'>

/** A trigger after a change, and the address that it is called at where its secret was made by this change. */
export interface ChangedTrigger {
  readonly row: TriggerRow
  readonly isNew: boolean
  readonly webhookUrl: string | undefined
}

const SECRET_BYTES = 32

/** What the database keeps of a webhook's secret. */
export const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest()

function newSecret(publicUrl: string): { readonly hash: Buffer; readonly url: string } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  return { hash: hashOf(secret), url: `${publicUrl}/workflows/v1/webhooks/${secret}` }
}

const entryOf = ({ spaceId, workflowId, triggerId }: TriggerPath) => ({
  spaceId,
  resourceType: 'workflow_trigger',
  resourceId: triggerId,
  workflowId,
})

const shown = ({
  workflow_id,
  type,
  stage,
  enabled,
  schedule,
  timezone,
  row_version,
  ...row
}: TriggerRow) => ({
  ...{ workflowId: workflow_id, type, stage, enabled, schedule, timezone },
  signatureValidation: row.signature_validation,
  version: row_version,
})

type Settings = Omit<TriggerFields, 'secretHash' | 'nextAt'>

/** @throws AppError 400 */
function settingsOf({ type, stage, enabled = true, config = {} }: TriggerInput, now: Date): Settings {
  const { signatureValidation = false, timezone = 'UTC' } = config
  const schedule = config.schedule ?? null
  if (type === 'webhook' && schedule !== null)
    throw invalidInput('body.config.schedule', 'is not for webhooks')
  if (type === 'schedule' && schedule === null) throw invalidInput('body.config.schedule', 'is required')
  demandSchedule({ cron: schedule ?? '* * * * *', timezone }, now)
  return { type, stage, enabled, signatureValidation, schedule, timezone }
}

/** When it fires next. One that is due already and not changed stays due: changing its stage loses no tick. */
function nextOf(settings: Settings, before: TriggerRow | undefined, now: Date): Date | null {
  const { schedule, timezone, enabled } = settings
  if (schedule === null || !enabled) return null
  const isSame = before?.schedule === schedule && before.timezone === timezone && before.enabled
  if (isSame && before.next_at !== null) return before.next_at
  return nextTick({ cron: schedule, timezone }, now) ?? null
}

/**
 * Makes a trigger, or changes the one of this id. A webhook keeps its secret.
 * @throws AppError 400, 404 without such a workflow, or for a schedule whose stage has not both version and
 *   configuration, 409 where the space has as many as it may, 412
 */
export async function putTrigger(
  ctx: Ctx,
  path: TriggerPath,
  input: TriggerInput,
  act: Act,
  versions: Upsertable,
): Promise<ChangedTrigger> {
  const now = new Date()
  const settings = settingsOf(input, now)
  const { spaceId, workflowId } = path
  return ctx.db.transaction().execute(async (trx) => {
    if ((await lockWorkflow(trx, spaceId, workflowId, 'key share')) === undefined)
      throw workflowNotFound(workflowId)
    if (settings.type === 'schedule' && !(await isStageReady(trx, spaceId, workflowId, settings.stage)))
      throw stageNotReady(settings.stage)
    const put = (await lockTrigger(trx, path)) ?? (await made(trx, path, settings, versions, ctx, now))
    const changed =
      'isNew' in put ? put : await changedFrom(trx, path, settings, put, anyOf(versions), ctx, now)
    const before = 'isNew' in put ? {} : { before: shown(put) }
    await ctx.audit.record(trx, act, { ...entryOf(path), ...before, after: shown(changed.row) })
    return changed
  })
}

/** @returns the trigger that somebody else made at this moment, when there is one */
async function made(
  trx: WorkflowsDb,
  path: TriggerPath,
  settings: Settings,
  versions: Upsertable,
  ctx: Pick<Ctx, 'publicUrl' | 'env'>,
  now: Date,
): Promise<ChangedTrigger | TriggerRow> {
  if (versions !== undefined) throw preconditionFailed()
  const secret = settings.type === 'webhook' ? newSecret(ctx.publicUrl) : undefined
  const row = await insertTrigger(trx, path, {
    ...settings,
    secretHash: secret?.hash ?? null,
    nextAt: nextOf(settings, undefined, now),
  })
  if (row !== undefined) await demandRoom(ctx, trx, 'triggers', path.spaceId)
  if (row?.next_at != null) await demandRoom(ctx, trx, 'enabled schedules', path.spaceId)
  if (row !== undefined) return { row, isNew: true, webhookUrl: secret?.url }
  const other = await lockTrigger(trx, path)
  // Made and deleted again at this moment: as if this came first.
  if (other === undefined) throw triggerNotFound(path.triggerId)
  return other
}

async function changedFrom(
  trx: WorkflowsDb,
  path: TriggerPath,
  settings: Settings,
  before: TriggerRow,
  versions: readonly number[] | undefined,
  ctx: Pick<Ctx, 'publicUrl' | 'env'>,
  now: Date,
): Promise<ChangedTrigger> {
  if (versions !== undefined && !versions.includes(before.row_version)) throw preconditionFailed()
  const needsSecret = settings.type === 'webhook' && before.secret_hash === null
  const secret = needsSecret ? newSecret(ctx.publicUrl) : undefined
  const row = await updateTrigger(trx, path, {
    ...settings,
    secretHash: settings.type === 'webhook' ? (secret?.hash ?? before.secret_hash) : null,
    nextAt: nextOf(settings, before, now),
  })
  if (before.next_at === null && row.next_at !== null)
    await demandRoom(ctx, trx, 'enabled schedules', path.spaceId)
  return { row, isNew: false, webhookUrl: secret?.url }
}

/** @throws AppError 404 */
export async function getTrigger({ db }: Pick<Ctx, 'db'>, path: TriggerPath): Promise<TriggerRow> {
  const row = await selectTrigger(db, path)
  if (row === undefined) throw triggerNotFound(path.triggerId)
  return row
}

/** @throws AppError 404 when there is no such workflow */
export async function listTriggers(
  { db }: Pick<Ctx, 'db'>,
  spaceId: string,
  workflowId: string,
  query: ListQuery,
): Promise<Found<TriggerRow>> {
  const [rows, total] = await Promise.all([
    begun(readTriggers(db, spaceId, workflowId, query)),
    countTriggers(db, spaceId, workflowId),
  ])
  if (total === 0 && (await selectWorkflow(db, spaceId, workflowId)) === undefined)
    throw workflowNotFound(workflowId)
  return { rows, total }
}

/** @throws AppError 404, 412 */
export async function deleteTrigger(
  ctx: Ctx,
  path: TriggerPath,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<void> {
  await ctx.db.transaction().execute(async (trx) => {
    const before = await lockTrigger(trx, path)
    if (before === undefined) throw triggerNotFound(path.triggerId)
    if (versions !== undefined && !versions.includes(before.row_version)) throw preconditionFailed()
    await deleteTriggerRow(trx, path)
    await ctx.audit.record(trx, act, { ...entryOf(path), before: shown(before) })
  })
}

/** Gives a webhook a new secret: from now on its old address is unknown. @throws AppError 400, 404, 412 */
export async function rotateSecret(
  ctx: Ctx,
  path: TriggerPath,
  act: Act,
  versions: readonly number[] | undefined,
): Promise<ChangedTrigger> {
  return ctx.db.transaction().execute(async (trx) => {
    const before = await lockTrigger(trx, path)
    if (before === undefined) throw triggerNotFound(path.triggerId)
    if (before.type !== 'webhook') throw notAWebhook(path.triggerId)
    if (versions !== undefined && !versions.includes(before.row_version)) throw preconditionFailed()
    const secret = newSecret(ctx.publicUrl)
    const row = await updateTrigger(trx, path, {
      type: before.type,
      stage: before.stage,
      enabled: before.enabled,
      signatureValidation: before.signature_validation,
      schedule: null,
      timezone: before.timezone,
      secretHash: secret.hash,
      nextAt: null,
    })
    await ctx.audit.record(trx, act, { ...entryOf(path), before: shown(before), after: shown(row) })
    return { row, isNew: false, webhookUrl: secret.url }
  })
}

/**
 * Starts the run that a trigger stands for, whatever its type, and enabled or not.
 * @throws AppError 404, 422 when its stage has no version or something is not resolved
 */
export async function invokeTrigger(
  ctx: Parameters<typeof createRun>[0],
  path: TriggerPath,
  act: Act,
): Promise<FullRunRow> {
  const { stage } = await getTrigger(ctx, path)
  const by = { act, createdBy: act.qxId, noVersion: invokedStageHasNoVersion }
  return createRun(ctx, { ...path, stage }, by, undefined)
}
