import { type DestinationStream, type Logger, pino } from 'pino'

export type { Logger } from 'pino'

/** Field names that never reach a log, at the depths where requests, headers and config carry them. */
const SECRET_FIELDS = [
  'authorization',
  'cookie',
  'password',
  'secret',
  'clientSecret',
  'client_secret',
  'apiKey',
  'apiKeyValue',
  'access_token',
  'refresh_token',
  'masterKey',
  'databaseUrl',
]

const redactPaths = SECRET_FIELDS.flatMap((field) => [
  field,
  `*.${field}`,
  `*.*.${field}`,
  `headers["${field}"]`,
  `req.headers["${field}"]`,
])

/** What a log shows of an error. Not its other properties: a database error carries its whole connection. */
function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const { code, errors } = error as { code?: unknown; errors?: unknown }
  return {
    type: error.name,
    message: error.message,
    stack: error.stack,
    ...(code === undefined ? {} : { code }),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
    ...(Array.isArray(errors) ? { errors: errors.map(describeError) } : {}),
  }
}

/**
 * A JSON logger that removes secrets. `asynchronous` buffers lines (one write per 4 KiB or 200 ms);
 * call `flush()` before exit.
 */
export function createLogger(options: {
  level: string
  asynchronous?: boolean
  /** 1 (standard output) by default. */
  fd?: number
  destination?: DestinationStream
}): Logger {
  const destination =
    options.destination ??
    pino.destination({
      dest: options.fd ?? 1,
      sync: options.asynchronous !== true,
      ...(options.asynchronous === true ? { minLength: 4096, periodicFlush: 200 } : {}),
    })
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: { paths: redactPaths, censor: '[redacted]' },
      serializers: { err: describeError },
      formatters: { level: (label) => ({ level: label }) },
    },
    destination,
  )
}
