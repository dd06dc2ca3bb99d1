import {
  AppError,
  conflict,
  invalidInput,
  notFound,
  preconditionFailed,
  tooManyRequests,
} from '@atrium/kernel/errors'
import type { ErrorView } from '@atrium/kernel/http'
import type { ErrorBody } from './contract/common.ts'

/** Every failure that the service answers on purpose, by name. */
export const spaceNotFound = (spaceId: string): AppError => notFound('Space', spaceId)
export const workflowNotFound = (workflowId: string): AppError => notFound('Workflow', workflowId)

export const taskNotFound = (task: string): AppError => notFound('Task', task)
export const artifactNotFound = (path: string): AppError => notFound('Artifact', path)

/** 429: every reader holds a connection. @param most of a space, in this process */
export const tooManyLogReaders = (most: number): AppError =>
  tooManyRequests(
    `Too many readers have logs open, or ${most} of this space alone; close some, or try again`,
    5,
  )

export const versionNotFound = (versionId: string): AppError => notFound('Version', versionId)

export const configurationNotFound = (configurationId: string): AppError =>
  notFound('Configuration', configurationId)
export const secretNotFound = (name: string): AppError => notFound('Secret', name)

export const stageNotAssigned = (stage: string): AppError =>
  new AppError(404, 'not_assigned', `Nothing is assigned to the stage ${stage}`)

/** 409. @param stages none where the last one let go of it at this moment */
export const configurationBound = (configurationId: string, stages: readonly string[]): AppError =>
  conflict(
    stages.length === 0
      ? `Configuration ${configurationId} was bound to a stage until now; try again`
      : `Configuration ${configurationId} is bound to the stage${stages.length === 1 ? '' : 's'} ${stages.join(', ')}`,
    'configuration_bound',
  )

/**
 * Why a conditional write touched no row.
 * @param exists whether the row is there in another version
 */
export const missed = (exists: boolean, absent: AppError): AppError =>
  exists ? preconditionFailed() : absent

const MOST_TOLD = 50

/** 400: what `versions:validate` would say of the tasks. */
export const invalidTasks = (faults: readonly string[]): AppError => {
  const more = faults.length > MOST_TOLD ? [`and ${faults.length - MOST_TOLD} more`] : []
  return invalidInput('body.tasks', `are not valid: ${[...faults.slice(0, MOST_TOLD), ...more].join('; ')}`)
}

export const versionHasActiveRuns = (versionId: string): AppError =>
  conflict(`Version ${versionId} has runs that have not ended: cancel them, or wait`, 'active_runs')

export const workflowHasActiveRuns = (workflowId: string): AppError =>
  conflict(`Workflow ${workflowId} has runs that have not ended: cancel them, or wait`, 'active_runs')

export const runNotFound = (runId: string): AppError => notFound('Run', runId)
export const triggerNotFound = (triggerId: string): AppError => notFound('Trigger', triggerId)

const noVersion = (status: number, code: string) => (stage: string) =>
  new AppError(status, code, `The stage ${stage} has no version assigned`)

/** The same in the three statuses that creation, invocation and webhooks have for it. */
export const stageHasNoVersion = noVersion(404, 'stage_has_no_version')
export const invokedStageHasNoVersion = noVersion(422, 'stage_has_no_version')
export const calledStageHasNoVersion = noVersion(409, 'stage_has_no_version')

export const stageNotReady = (stage: string): AppError =>
  new AppError(
    404,
    'stage_not_ready',
    `The stage ${stage} has no assignment of both a version and a configuration, which a schedule needs`,
  )

export const runNotFailed = (runId: string, status: string): AppError =>
  conflict(`Run ${runId} is ${status}: only failed runs can be retried`, 'run_not_failed')

/** 409: what a retry would build on is gone. */
export const runExpired = (runId: string): AppError =>
  conflict(
    `The workspace of run ${runId} is gone, for its age or because the space’s runs took too much of the disk: it cannot be retried; start a new run`,
    'run_expired',
  )

/** 409: what an Idempotency-Key stands for is gone, and is not made again. */
export const keyedRunDeleted = (runId: string): AppError =>
  conflict(`The run ${runId} that this Idempotency-Key stands for was deleted`, 'run_deleted')

export const runNotEnded = (runId: string, status: string): AppError =>
  conflict(`Run ${runId} is ${status}: cancel it, or wait for its end`, 'run_not_ended')

/** 409: none goes by itself, so trying again is of no use. */
export const tooMany = (kind: string, most: number): AppError =>
  conflict(
    `The space has ${most} ${kind}, which is as many as it may have: ${kind === 'enabled schedules' ? 'disable' : 'delete'} some`,
    'quota_reached',
  )

/** 429: further runs would only wait. */
export const tooManyRuns = (most: number): AppError =>
  tooManyRequests(`The space has ${most} runs that have not ended, which is as many as it may have`, 30)

/** 429: every follower holds a connection. @param most of a space, in this process */
export const tooManyFollowers = (most: number): AppError =>
  tooManyRequests(
    `Too many follow the events of runs, or ${most} of this space alone; close some, or try again`,
    10,
  )

export const notAWebhook = (triggerId: string): AppError =>
  new AppError(400, 'not_a_webhook', `Trigger ${triggerId} is no webhook: it has no secret`)

/** 404 with no word about why: whoever guesses learns nothing. */
export const webhookNotFound = (): AppError => notFound('Webhook')

export const wrongSignature = (): AppError =>
  new AppError(
    401,
    'wrong_signature',
    'X-Signature-256 must be sha256=<hex of the HMAC-SHA256 of the raw body under the webhook’s secret>',
  )

/** 503: nobody chose what runs tasks. */
export const engineNotConfigured = (): AppError =>
  new AppError(
    503,
    'engine_not_configured',
    'No engine is configured that could run tasks: set ATRIUM_ENGINE=local where this machine is trusted with them',
    // Clients try other answers of 503 again.
    { headers: { 'x-should-retry': 'false' } },
  )

const UNRESOLVED = 'unresolved_reference'

/** 422: references of a version that neither configuration nor secrets resolve, one message for each. */
export const unresolvedReferences = (messages: readonly string[]): AppError =>
  new AppError(422, UNRESOLVED, messages.join('\n'))

/** The service's error body. */
export const formatError = ({ code, message }: ErrorView): ErrorBody => ({
  detail: code === UNRESOLVED ? message.split('\n').map((msg) => ({ msg })) : message,
})
