import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import cors from '@fastify/cors'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import Fastify, {
  type ConnectionError,
  type FastifyBaseLogger,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from 'fastify'
import { invalidInput, tooBusy } from '../errors.ts'
import { newId } from '../ids.ts'
import type { Logger } from '../log.ts'
import { Gauge, Histogram, type Registry } from '../metrics.ts'
import { newTenantWork, runAsWork, TenantTurns, workOf } from '../tenant-work.ts'
import { readJson, readJsonBodies } from './bodies.ts'
import { compileSerializer, compileValidator } from './compilers.ts'
import { errorShapeBelow } from './service.ts'

export type HttpServer = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

export interface HttpOptions {
  readonly log: Logger
  readonly metrics: Registry
  /** Browsers of these origins may call; none by default. */
  readonly corsOrigins: readonly string[]
  /** Largest body in bytes, unless a route says otherwise. */
  readonly bodyLimit: number
  /** Addresses of proxies whose X-Forwarded-* headers count. */
  readonly trustedProxies: readonly string[]
  /** Requests of one tenant that may wait for their turn (1,000); ten times as many may wait in all. */
  readonly waitingRequests?: number
  /** Adds Strict-Transport-Security, when the platform is reached by https. */
  readonly https: boolean
}

/** OWASP's list for REST answers; pages with markup (docs, console) replace the policy by their own. */
const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

const REQUEST_ID = /^[\w.:-]{1,128}$/

const requestIdOf = (raw: { headers: Record<string, string | string[] | undefined> }): string => {
  const given = raw.headers['x-request-id']
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : newId()
}

/** The error body of the service that a path lies below, for failures before any routing. */
function shapeOf(
  server: object,
  url: string,
  status: number,
  code: string,
  message: string,
  requestId: string,
) {
  const format = errorShapeBelow(server, url)
  return format === undefined
    ? { error: { code: status, message } }
    : format({ status, code, message, field: undefined, requestId })
}

type Headers = Readonly<Record<string, string>>

/** A path that cannot be decoded, or whose parts are too long, is refused before it reaches the scope of its service. */
const answerBadPath =
  (headers: Headers) =>
  (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    const status = error.statusCode ?? 400
    const message = status === 414 ? 'A part of the path is too long' : 'The path cannot be decoded'
    const { server } = request.server
    const body = shapeOf(server, request.raw.url ?? '', status, 'invalid_path', message, request.id)
    void reply.code(status).headers(headers).header('x-request-id', request.id).send(body)
  }

const BAD_MESSAGES: Readonly<Record<string, readonly [number, string, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'headers_too_large', 'The headers of the request are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'request_timeout', 'The request did not come in time'],
}

/** What is no HTTP request at all, or has too many headers, has no reply to answer with: the socket gets the bytes. */
const answerBadMessage = (headers: Headers) =>
  function answer(this: FastifyInstance, error: ConnectionError, socket: Socket): void {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const [status, code, message] = BAD_MESSAGES[error.code ?? ''] ?? [
      400,
      'malformed_request',
      'The request is not HTTP/1.1',
    ]
    const packet: unknown = error.rawPacket
    const start = Buffer.isBuffer(packet) ? packet.toString('latin1', 0, 200) : ''
    const requestId = newId()
    const url = /^[A-Z]+ (\/[^ ?]*)/.exec(start)?.[1] ?? ''
    const body = JSON.stringify(shapeOf(this.server, url, status, code, message, requestId))
    const head = {
      ...headers,
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(Buffer.byteLength(body)),
      connection: 'close',
      'x-request-id': requestId,
    }
    const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
  }

/** The root server: everything that all services share, and no route. Listening is the caller's act. */
export async function createHttpServer(options: HttpOptions): Promise<HttpServer> {
  const headers = options.https
    ? { ...SECURITY_HEADERS, 'strict-transport-security': 'max-age=31536000; includeSubDomains' }
    : SECURITY_HEADERS
  const app = Fastify({
    loggerInstance: options.log as FastifyBaseLogger,
    logController: new LogController({ disableRequestLogging: true }),
    // One logger for all: a child per request costs more than the whole routing.
    childLoggerFactory: (logger) => logger,
    genReqId: requestIdOf,
    bodyLimit: options.bodyLimit,
    trustProxy: options.trustedProxies.length > 0 ? [...options.trustedProxies] : false,
    requestTimeout: 60_000,
    keepAliveTimeout: 72_000,
    // A request that crosses with a stop is served, as the last one of its connection.
    return503OnClosing: false,
    routerOptions: { maxParamLength: 256, ignoreTrailingSlash: true },
    frameworkErrors: answerBadPath(headers),
    clientErrorHandler: answerBadMessage(headers),
  }).withTypeProvider<TypeBoxTypeProvider>()

  closeUnusedConnections(app)
  app.setValidatorCompiler(compileValidator)
  app.setSerializerCompiler(compileSerializer)
  readJsonBodies(app, readJson)
  app.addHook('onRequest', (request, reply, done) => {
    reply.headers(headers).header('x-request-id', request.id)
    // What asks for no query reads none.
    const isRead = request.routeOptions.schema?.querystring !== undefined
    if (isRead && request.url.split('?', 2)[1]?.includes('%00') === true) {
      done(invalidInput('query', 'must not contain the NUL character (%00)'))
      return
    }
    done()
  })
  allowBareQueries(app)
  if (options.corsOrigins.length > 0) {
    const allowed = {
      origin: [...options.corsOrigins],
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'QUERY'],
      exposedHeaders: [
        'etag',
        'x-request-id',
        'retry-after',
        'ratelimit-limit',
        'ratelimit-remaining',
        'ratelimit-reset',
        'x-atrium-backend',
      ],
      maxAge: 600,
    }
    // Only a browser's preflight is answered here: an OPTIONS of any other kind goes to the services.
    await app.register(cors, () => async ({ headers: { origin, ...asked } }: FastifyRequest) => ({
      ...allowed,
      preflight: origin !== undefined && asked['access-control-request-method'] !== undefined,
    }))
  }

  observeRequests(app, options)
  followWork(app, options)
  return app
}

/** Fastify demands a content type on QUERY; its body is optional here, so an absent one counts as JSON. */
function allowBareQueries(app: HttpServer): void {
  app.addHook('onRequest', (request, _reply, done) => {
    if (request.method === 'QUERY') request.raw.headers['content-type'] ??= 'application/json'
    done()
  })
}

const WAITING_REQUESTS = 1000
/** All tenants' requests together may wait so many times as often. */
const TENANTS_WAITING = 10

/** What a request sets off belongs to it: its turns, and what the database is asked for. */
function followWork(
  app: HttpServer,
  { metrics, waitingRequests: ofTenant = WAITING_REQUESTS }: HttpOptions,
): void {
  const turns = new TenantTurns({ ofTenant, ofAll: TENANTS_WAITING * ofTenant, refusal: tooBusy })
  observeTurns(turns, metrics)
  app.addHook('onRequest', (request, _reply, done) => {
    newTenantWork(request, turns)
    done()
  })
  // Not before: until the caller is known it is nobody's, and the body is read in the socket's events, which know nothing
  // of the request.
  app.addHook('preValidation', (request, _reply, done) => {
    const work = workOf(request)
    if (work === undefined) done()
    else runAsWork(work, done)
  })
  app.addHook('onResponse', (request, _reply, done) => {
    const work = workOf(request)
    if (work !== undefined) work.isOver = true
    done()
  })
}

function observeTurns({ requests, pieces }: TenantTurns, metrics: Registry): void {
  new Gauge({
    name: 'atrium_http_waiting_requests',
    help: 'Requests that wait for their turn to begin',
    registers: [metrics],
    collect() {
      this.set(requests.waiting)
    },
  })
  new Gauge({
    name: 'atrium_http_waiting_pieces',
    help: 'Large pieces of work, such as bodies to be parsed, that wait for their turn',
    registers: [metrics],
    collect() {
      this.set(pieces.waiting)
    },
  })
}

/** One histogram and one log line per request. */
function observeRequests(app: HttpServer, { log, metrics }: HttpOptions): void {
  const seconds = new Histogram({
    name: 'atrium_http_request_duration_seconds',
    help: 'Time from the request to the last byte of its answer',
    labelNames: ['method', 'route', 'status'] as const,
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120],
    registers: [metrics],
  })
  // Looking labels up by object costs more than observing, so each combination is bound once.
  const bound = new Map<string, ReturnType<typeof seconds.labels>>()
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'unknown'
    const key = `${request.method} ${route} ${reply.statusCode}`
    let series = bound.get(key)
    if (series === undefined) {
      series = seconds.labels({ method: request.method, route, status: String(reply.statusCode) })
      bound.set(key, series)
    }
    series.observe(reply.elapsedTime / 1000)
    log.debug(
      {
        requestId: request.id,
        method: request.method,
        route,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      'request',
    )
    done()
  })
}
/**
 * Connections that clients opened in advance and never used do not count as idle for Node.js, and would
 * hold up a stop until their time-out.
 */
function closeUnusedConnections(app: HttpServer): void {
  const open = new Set<Socket>()
  app.server.on('connection', (socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  app.addHook('preClose', (done) => {
    for (const socket of open) if (socket.bytesRead === 0) socket.destroy()
    done()
  })
}
