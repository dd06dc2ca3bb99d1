import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Act } from '@atrium/access'
import type { WorkflowsContext } from '../context.ts'
import { calledStageHasNoVersion, webhookNotFound, wrongSignature } from '../errors.ts'
import type { FullRunRow } from '../queries/runs.ts'
import { selectWebhook, type TriggerRow } from '../queries/triggers.ts'
import { createRun } from './runs/create-run.ts'
import { hashOf } from './triggers.ts'

/** 256 bits in base64url. Nothing else is looked up. */
const SECRET = /^[A-Za-z0-9_-]{43}$/
const SIGNATURE = /^sha256=([0-9a-f]{64})$/i

/** The enabled webhook that a secret of a path belongs to. @throws AppError 404 */
export async function findWebhook(
  { db, spaces }: Pick<WorkflowsContext, 'db' | 'spaces'>,
  secret: string,
): Promise<TriggerRow> {
  const trigger = SECRET.test(secret) ? await selectWebhook(db, hashOf(secret)) : undefined
  if (trigger === undefined || !(await spaces.isOpen(trigger.space_id))) throw webhookNotFound()
  return trigger
}

/** @param body as it came, byte for byte @throws AppError 401 */
function demandSignature(secret: string, body: Buffer, header: string | undefined): void {
  const given = Buffer.from(SIGNATURE.exec(header ?? '')?.[1] ?? '', 'hex')
  const expected = createHmac('sha256', secret).update(body).digest()
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) throw wrongSignature()
}

/**
 * Starts the run of a webhook that was called.
 * @throws AppError 401, 409 when its stage has no version, 422 when something is not resolved
 */
export async function callWebhook(
  ctx: Parameters<typeof createRun>[0],
  trigger: TriggerRow,
  call: { readonly secret: string; readonly body: Buffer; readonly signature: string | undefined },
  act: Act,
): Promise<FullRunRow> {
  if (trigger.signature_validation) demandSignature(call.secret, call.body, call.signature)
  const { space_id: spaceId, workflow_id: workflowId, trigger_id: triggerId, stage } = trigger
  const by = { act, createdBy: `trigger:${triggerId}`, noVersion: calledStageHasNoVersion }
  return createRun(ctx, { spaceId, workflowId, triggerId, stage }, by, undefined)
}
