import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '@atrium/kernel/errors'
import type { WholeAnswer } from '../../domain/backend.ts'
import { backendAnswerInvalid, backendAuthenticationFailed, backendModelMissing } from '../../errors.ts'
import type { OpenAiConnection } from './connection.ts'
import { errorBodyOf } from './error-body.ts'

/** What may pass from a backend to a caller. Quotas, organisation and cookies are the operator's affair. */
const PASSED = [
  'content-type',
  'content-encoding',
  'retry-after',
  'retry-after-ms',
  'openai-processing-ms',
  'openai-version',
]

/** The harmless headers of a backend's answer; its request id under a name that is not ours. */
export function passedHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const passed: Record<string, string> = {}
  for (const name of PASSED) {
    const value = headers[name]
    if (typeof value === 'string') passed[name] = value
  }
  const id = headers['x-request-id']
  if (typeof id === 'string') passed['x-backend-request-id'] = id
  return passed
}

const firstByte = (body: Buffer): number | undefined => body.find((byte) => byte > 0x20)
const lastByte = (body: Buffer): number | undefined => body.findLast((byte) => byte > 0x20)

/**
 * The answer as callers may see it: good ones and errors in OpenAI's shape as the bytes that came, other errors in
 * OpenAI's shape with their own words.
 * @throws AppError for everything else
 */
export function answerOf(
  connection: OpenAiConnection,
  status: number,
  headers: IncomingHttpHeaders,
  body: Buffer,
): WholeAnswer {
  if (status >= 200 && status < 300) {
    if (firstByte(body) !== 0x7b || lastByte(body) !== 0x7d) {
      throw backendAnswerInvalid(connection.name, 'is not JSON')
    }
    return { kind: 'whole', status, headers: passedHeaders(headers), body }
  }
  if (status === 401 || status === 403) throw backendAuthenticationFailed(connection.name)
  if (status === 404) throw backendModelMissing(connection.name)
  if (status < 400) throw backendAnswerInvalid(connection.name, `redirects (status ${status})`)
  const shown = shownStatus(status)
  const leaksKey = connection.apiKey !== undefined && body.includes(connection.apiKey)
  const error = leaksKey ? undefined : errorBodyOf(body, headers['content-type'], shown)
  if (error !== undefined) {
    const jsonHeaders = { ...passedHeaders(headers), 'content-type': 'application/json' }
    return { kind: 'whole', status: shown, headers: jsonHeaders, body: error }
  }
  throw new AppError(
    shown,
    'backend_error',
    `The backend ${connection.name} answered with status ${status}`,
    {
      headers: retryHeaders(headers),
    },
  )
}

const KEPT = new Set([400, 413, 422, 429, 500, 502, 503, 504])

/** Statuses outside the gateway's contract become the nearest within. */
function shownStatus(status: number): number {
  if (KEPT.has(status)) return status
  if (status === 408) return 504
  return status < 500 ? 400 : 502
}

function retryHeaders(headers: IncomingHttpHeaders): Record<string, string> {
  const after = headers['retry-after']
  return after === undefined ? {} : { 'retry-after': after }
}
