/**
 * The one error that services throw on purpose. It is translated once, by the service's HTTP scope,
 * into that service's body shape; anything else becomes an opaque 500.
 */
export class AppError extends Error {
  override readonly name = 'AppError'
  readonly status: number
  /** Stable, machine-readable, snake_case. */
  readonly code: string
  /** The offending field, when there is one (`body.day`, `query.month`). */
  readonly field: string | undefined
  readonly headers: Readonly<Record<string, string>> | undefined

  constructor(
    status: number,
    code: string,
    message: string,
    options: { cause?: unknown; field?: string; headers?: Record<string, string> } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.status = status
    this.code = code
    this.field = options.field
    this.headers = options.headers
  }
}

/** 400: `field` names what is wrong, `reason` says why. */
export const invalidInput = (field: string, reason: string): AppError =>
  new AppError(400, 'invalid_input', `${field} ${reason}`, { field })

/** 401 for a request without a bearer credential: a challenge that names no error (RFC 6750 §3.1). */
export const unauthorized = (message: string, code = 'unauthorized'): AppError =>
  new AppError(401, code, message, { headers: { 'www-authenticate': 'Bearer' } })

/** 401 for a bearer credential that is not accepted, and why (RFC 6750 §3). */
export const invalidToken = (message: string, code = 'invalid_token'): AppError =>
  new AppError(401, code, message, {
    headers: {
      'www-authenticate': `Bearer error="invalid_token", error_description="${challengeText(message)}"`,
    },
  })

/** The characters that RFC 6750 allows in an `error_description`. */
const challengeText = (message: string): string =>
  message.replace(/["\\]/g, "'").replace(/[^\x20-\x7e]/g, '?')

export const forbidden = (message: string, code = 'forbidden'): AppError => new AppError(403, code, message)

/** 404: `what` is the resource's name, e.g. `Space`. */
export const notFound = (what: string, id?: string): AppError =>
  new AppError(404, 'not_found', id === undefined ? `${what} not found` : `${what} ${id} not found`)

export const conflict = (message: string, code = 'conflict'): AppError => new AppError(409, code, message)

export const preconditionFailed = (): AppError =>
  new AppError(412, 'precondition_failed', 'If-Match does not name the current version')

/** 429; `retryAfterSeconds` is rounded up to whole seconds. */
export const tooManyRequests = (
  message: string,
  retryAfterSeconds: number,
  headers: Record<string, string> = {},
): AppError =>
  new AppError(429, 'rate_limit_exceeded', message, {
    headers: { 'retry-after': String(Math.max(1, Math.ceil(retryAfterSeconds))), ...headers },
  })

/** Seconds after which a caller that met an outage of the database may try again. */
const RETRY_SECONDS = '5'

/** 503: the database does not answer. Whoever talks to it makes this error; nobody else needs to know why. */
export const unavailable = (cause?: unknown): AppError =>
  new AppError(503, 'unavailable', 'The service is unavailable for a moment; try again', {
    cause,
    headers: { 'retry-after': RETRY_SECONDS },
  })

/** 503: more requests wait for their turn than may. */
export const tooBusy = (): AppError =>
  new AppError(503, 'too_busy', 'Too many requests wait for their turn; send fewer at once', {
    headers: { 'retry-after': '1' },
  })

/** 499, which nobody sees: the caller hung up. */
export const callerGone = (): AppError => new AppError(499, 'caller_gone', 'The caller hung up')

/** Whether an error says that the database does not answer, and nothing about what it was asked. */
export const isUnavailable = (error: unknown): error is AppError =>
  error instanceof AppError && error.code === 'unavailable'

/** A mistake of whoever runs Atrium; the command prints the message alone, without a stack. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
}
