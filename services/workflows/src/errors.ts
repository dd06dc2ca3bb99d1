import { AppError, conflict, invalidInput, notFound } from '@atrium/kernel/errors'
import type { ErrorView } from '@atrium/kernel/http'
import type { ErrorBody } from './contract/common.ts'

/** Every failure that the service answers on purpose, by name. */
export const spaceNotFound = (spaceId: string): AppError => notFound('Space', spaceId)
export const workflowNotFound = (workflowId: string): AppError => notFound('Workflow', workflowId)

export const versionNotFound = (versionId: string): AppError => notFound('Version', versionId)

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

/** 503: nobody chose what runs tasks. */
export const engineNotConfigured = (): AppError =>
  new AppError(
    503,
    'engine_not_configured',
    'No engine is configured that could run tasks: set ATRIUM_ENGINE=local where this machine is trusted with them',
  )

const UNRESOLVED = 'unresolved_reference'

/** 422: references of a version that neither configuration nor secrets resolve, one message for each. */
export const unresolvedReferences = (messages: readonly string[]): AppError =>
  new AppError(422, UNRESOLVED, messages.join('\n'))

/** The service's error body. */
export const formatError = ({ code, message }: ErrorView): ErrorBody => ({
  detail: code === UNRESOLVED ? message.split('\n').map((msg) => ({ msg })) : message,
})
