import { AppError, preconditionFailed } from '@atrium/kernel/errors'
import type { ErrorView } from '@atrium/kernel/http'
import type { ErrorBody } from './contract/common.ts'

/** Every failure that the service answers on purpose, by name. Codes are shown in capitals: `AGENT_NOT_FOUND`. */
const absent = (what: string, code: string, id: string): AppError =>
  new AppError(404, `${code}_not_found`, `${what} ${id} not found`)

export const spaceNotFound = (spaceId: string): AppError => absent('Space', 'space', spaceId)
export const agentNotFound = (agentId: string): AppError => absent('Agent', 'agent', agentId)
export const threadNotFound = (threadId: string): AppError => absent('Thread', 'thread', threadId)
export const storeNotFound = (id: string): AppError => absent('Vector store', 'vector_store', id)
export const messageNotFound = (messageId: string): AppError => absent('Message', 'message', messageId)

const shown = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text)

/** 400: agents use chat and responses models of the gateway's catalogue, no others. */
export const unknownModel = (model: string, field: string): AppError =>
  new AppError(400, 'model_not_found', `${field}: there is no model ${shown(JSON.stringify(model))}`, {
    field,
  })

/**
 * Why a conditional write touched no row.
 * @param exists whether the row is there in another version
 */
export const missed = (exists: boolean, absent: AppError): AppError =>
  exists ? preconditionFailed() : absent

/** createAgent → `create agent`. */
const wordsOf = (operationId: string): string => operationId.replace(/[A-Z]/g, ' $&').toLowerCase()

/** The service's error body. What nobody foresaw is named by the operation that failed. */
export function formatError({ status, code, message, requestId, operationId }: ErrorView): ErrorBody {
  const isForeseen = status < 500 || code === 'unavailable'
  if (isForeseen || operationId === undefined) return { error: true, message, code: code.toUpperCase() }
  const words = wordsOf(operationId)
  const deed = /^(?!evaluate).* search$/.test(words) ? `run ${words}` : words
  return {
    error: true,
    message: `Failed to ${deed}; quote request ${requestId}`,
    code: `${words.replaceAll(' ', '_').toUpperCase()}_FAILED`,
  }
}
