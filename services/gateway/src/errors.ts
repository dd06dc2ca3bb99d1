import { AppError, invalidToken } from '@atrium/kernel/errors'
import type { ErrorView } from '@atrium/kernel/http'
import type { GatewayError } from './contract/index.ts'

/** 401: unknown, revoked or expired. */
export const invalidApiKey = (): AppError =>
  invalidToken(
    'Incorrect API key: it is unknown, revoked or expired. Create one in the portal',
    'invalid_api_key',
  )

/** 401 for keys from before keys were UUIDs. */
export const deprecatedKeyFormat = (): AppError =>
  invalidToken(
    'API keys of the old format are deprecated and no longer accepted here. Issue a new key in the self-service portal',
    'deprecated_api_key_format',
  )

/** 401 for a user or M2M token. */
export const tokenInsteadOfKey = (message: string): AppError => invalidToken(message, 'invalid_api_key')

/** 400: a required field is missing. */
export const missingField = (field: string): AppError =>
  new AppError(400, 'missing_required_parameter', `Missing required parameter: '${field}'`, { field })

/** 400: a field that holds nothing, or too much. */
export const invalidInputValue = (field: string, reason: string): AppError =>
  new AppError(400, 'invalid_value', `Invalid '${field}': ${reason}`, { field })

/** 422: a field of the wrong type or out of its range. */
export const invalidField = (field: string, reason: string): AppError =>
  new AppError(422, 'invalid_value', `Invalid '${field}': ${reason}`, { field })

/** 400 as part of a call, 404 as a resource of its own. */
export const modelNotFound = (model: string, status: 400 | 404): AppError =>
  new AppError(status, 'model_not_found', `The model '${shown(model)}' does not exist in this region`, {
    field: 'model',
  })

/** 414: no model's id is as long. */
export const idTooLong = (): AppError => new AppError(414, 'invalid_path', 'A part of the path is too long')

/** 400: the model is real but answers elsewhere. */
export const wrongEndpoint = (model: string, kind: string, endpoint: string): AppError =>
  new AppError(
    400,
    'wrong_endpoint',
    `'${model}' is ${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind} model: call ${endpoint} instead`,
    {
      field: 'model',
    },
  )

/** 503: nobody gave the model's backend an address and credentials. */
export const backendNotConfigured = (model: string, remedy: string): AppError =>
  new AppError(503, 'backend_not_configured', `The backend of '${model}' is not configured: ${remedy}`)

/** 503: nobody knows what a call would cost. */
export const modelNotPriced = (model: string, isCatalogued: boolean): AppError =>
  new AppError(
    503,
    'model_not_priced',
    `'${shown(model)}' has no price, and only servers found on this machine serve for nothing: ${
      isCatalogued ? 'add `prices` to its entry in' : 'add it with its `prices` to'
    } the model catalogue (the file that ATRIUM_MODELS names); prices of "0" make it free`,
    { field: 'model' },
  )

/** 503: the process ends before the answer did. */
export const serverStopping = (): AppError =>
  new AppError(
    503,
    'server_stopping',
    'The server stops before the answer is complete; send the request again',
  )

/** 502: the backend refused the platform's own credentials; nothing of its answer is shown. */
export const backendAuthenticationFailed = (backend: string): AppError =>
  new AppError(
    502,
    'backend_authentication_failed',
    `The backend ${backend} refused the platform's credentials; tell the operator`,
  )

/** 502: the backend does not know the model that the catalogue says it serves. */
export const backendModelMissing = (backend: string): AppError =>
  new AppError(502, 'backend_model_not_found', `The backend ${backend} does not serve this model`)

/** 502: no connection, or one that broke before the answer was complete. */
export const backendUnreachable = (backend: string, cause: unknown): AppError =>
  new AppError(502, 'backend_unreachable', `The backend ${backend} could not be reached`, { cause })

/** 502: an answer that is not what the API promises. */
export const backendAnswerInvalid = (backend: string, reason: string): AppError =>
  new AppError(502, 'backend_answer_invalid', `The backend ${backend} sent an answer that ${reason}`)

/** 502: an error amid a stream, which the caller sees as the backend worded it. */
export const backendReportsError = (backend: string): AppError =>
  new AppError(502, 'backend_error', `The backend ${backend} reported an error amid its answer`)

/** 504: no answer, or none complete, in time. */
export const backendTimeout = (backend: string, cause?: unknown): AppError =>
  new AppError(504, 'backend_timeout', `The backend ${backend} did not answer in time`, { cause })

export { callerGone } from '@atrium/kernel/errors'

/** 429 in OpenAI's words for it. Trying again does not help, and its clients heed the header that says so. */
export const budgetUsedUp = (whose: 'key' | 'space'): AppError =>
  new AppError(
    429,
    'insufficient_quota',
    whose === 'key'
      ? 'You exceeded the monthly budget of this API key. It is renewed on the first of the month (UTC); a superuser can raise it'
      : 'You exceeded the monthly budget of this space. It is renewed on the first of the month (UTC); a superuser can raise it',
    { headers: { 'x-should-retry': 'false' } },
  )

/** 429: calls under way may cost all that is left; once they are over, it is known. */
export const budgetReserved = (whose: 'key' | 'space'): AppError =>
  new AppError(
    429,
    'budget_reserved',
    `What is left of the monthly budget of this ${whose === 'key' ? 'API key' : 'space'} is set aside for calls under way. Send the request again, or limit its max_completion_tokens`,
    { headers: { 'retry-after': '1' } },
  )

const shown = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text)

function typeOf(status: number, code: string): string {
  if (code === 'insufficient_quota') return code
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

/** OpenAI's error shape. `param` is the field's path inside the body. */
export function formatError({ status, code, message, field }: ErrorView): GatewayError {
  const param = field === undefined || field === 'body' ? null : field.replace(/^(?:body|query|params)\./, '')
  return { error: { message, type: typeOf(status, code), param, code } }
}
