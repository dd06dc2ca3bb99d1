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

/** 401 with a Bearer challenge (RFC 6750). */
export const unauthorized = (message: string, code = 'unauthorized'): AppError =>
  new AppError(401, code, message, { headers: { 'www-authenticate': 'Bearer' } })

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

/** A mistake of whoever runs Atrium; the command prints the message alone, without a stack. */
export class OperatorError extends Error {
  override readonly name = 'OperatorError'
}
