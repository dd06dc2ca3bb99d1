import swagger from '@fastify/swagger'
import scalar from '@scalar/fastify-api-reference'
import type { FastifyError, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import findMyWay from 'find-my-way'
import { AppError } from '../errors.ts'
import { keepOpen } from './bodies.ts'
import type { HttpServer } from './server.ts'

/** The Fastify instance that a service adds its routes to. */
export type ServiceScope = HttpServer

/** What a service's `formatError` gets to shape; `message` is safe to show. */
export interface ErrorView {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly field: string | undefined
  readonly requestId: string
  /** Undefined where no route was found. */
  readonly operationId?: string | undefined
}

export interface ServiceOptions {
  /** Base address, e.g. `/portal`. */
  readonly prefix: string
  readonly title: string
  readonly description: string
  readonly version: string
  readonly formatError: (error: ErrorView) => unknown
  /** Status of a body that fails its schema: 400, or 422 where the service's contract says so. */
  readonly validationStatus?: number
  /** Adds the routes. Each has `config.operationId`, and `config.public` when it needs no credential. */
  readonly routes: (scope: ServiceScope) => void | Promise<void>
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Name of the operation in OpenAPI, in the access table and in tests. */
    operationId?: string
    public?: boolean
  }
}

const CODES: Readonly<Record<string, string>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'invalid_content_length',
}

/** "body/day must match format" → `body.day`. */
const fieldOf = (error: FastifyError): string => {
  const first = error.validation?.[0]
  const missing = (first?.params as { missingProperty?: string } | undefined)?.missingProperty
  const path = (first?.instancePath ?? '').split('/').filter((part) => part !== '')
  const part = error.validationContext === 'querystring' ? 'query' : (error.validationContext ?? 'body')
  return [part, ...path, ...(missing === undefined ? [] : [missing])].join('.')
}

function viewOf(error: FastifyError | AppError, requestId: string, validationStatus: number): ErrorView {
  if (error instanceof AppError) {
    return { status: error.status, code: error.code, message: error.message, field: error.field, requestId }
  }
  if (error.validation !== undefined) {
    const field = fieldOf(error)
    const reason = error.validation[0]?.message ?? 'is invalid'
    const isMissing = error.validation[0]?.keyword === 'required'
    const status = error.validationContext === 'body' ? validationStatus : 400
    return {
      status,
      code: 'invalid_input',
      message: `${field} ${isMissing ? 'is required' : reason}`,
      field,
      requestId,
    }
  }
  const status = error.statusCode ?? 500
  if (status >= 400 && status < 500) {
    return {
      status,
      code: CODES[error.code] ?? 'bad_request',
      message: error.message,
      field: undefined,
      requestId,
    }
  }
  return {
    status: 500,
    code: 'internal_error',
    message: `Internal error; quote request ${requestId}`,
    field: undefined,
    requestId,
  }
}

type Format = ServiceOptions['formatError']

/** The error shapes of each server's services, by prefix. */
const shapes = new WeakMap<object, Map<string, Format>>()

/** How the service that a path lies below shows its errors; undefined below none. For failures before any routing. */
export function errorShapeBelow(server: object, url: string): Format | undefined {
  const prefix = /^\/[^/?]+/.exec(url)?.[0] ?? ''
  return shapes.get(server)?.get(prefix)
}

/**
 * Mounts a service under its prefix: its error shape for everything below it (404 and 405 too), its
 * OpenAPI 3.2 at `/openapi.json` and its reference at `/docs`.
 */
export async function mountService(app: HttpServer, options: ServiceOptions): Promise<void> {
  const known = shapes.get(app.server) ?? new Map<string, Format>()
  shapes.set(app.server, known.set(options.prefix, options.formatError))
  await app.register(
    async (scope: ServiceScope) => {
      const answer = (error: FastifyError | AppError, request: FastifyRequest, reply: FastifyReply) => {
        const view = {
          ...viewOf(error, request.id, options.validationStatus ?? 400),
          operationId: request.routeOptions.config?.operationId,
        }
        if (view.status >= 500) request.log.error({ err: error, requestId: request.id }, 'request failed')
        keepOpen(request, reply)
        if (error instanceof AppError && error.headers !== undefined) reply.headers(error.headers)
        return reply
          .code(view.status)
          .type('application/json; charset=utf-8')
          .serializer(JSON.stringify)
          .send(options.formatError(view))
      }
      scope.setErrorHandler<FastifyError | AppError>(answer)
      answerUnknownRoutes(scope, options.prefix, answer)
      await describe(scope, options)
      await scope.register(async (routes: ServiceScope) => {
        routes.addHook('onRoute', nameOperation)
        await options.routes(routes)
      })
    },
    { prefix: options.prefix },
  )
}

/** 405 with `Allow` where the path exists under another method, else 404. */
function answerUnknownRoutes(
  scope: ServiceScope,
  prefix: string,
  answer: (error: AppError, request: FastifyRequest, reply: FastifyReply) => FastifyReply,
): void {
  const paths = findMyWay({ ignoreTrailingSlash: true, maxParamLength: 256 })
  const methodsOf = new Map<string, Set<string>>()
  scope.addHook('onRoute', ({ url, method }) => {
    const methods = methodsOf.get(url) ?? new Set<string>()
    if (methods.size === 0) {
      methodsOf.set(url, methods)
      paths.on('GET', url, () => {}, methods)
    }
    for (const one of Array.isArray(method) ? method : [method]) methods.add(one)
  })
  scope.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] ?? ''
    const allowed = paths.find('GET', path)?.store as Set<string> | undefined
    const error =
      allowed === undefined
        ? new AppError(
            404,
            'route_not_found',
            `There is no ${request.method} ${prefix}${path.slice(prefix.length)}`,
          )
        : new AppError(405, 'method_not_allowed', `${request.method} is not allowed here`, {
            headers: { allow: [...allowed].sort().join(', ') },
          })
    return answer(error, request, reply)
  })
}

/** Every route is an operation with a name: OpenAPI, the access table and the tests know it by that. */
function nameOperation(route: RouteOptions): void {
  if (route.method === 'HEAD') {
    route.schema = { ...route.schema, hide: true }
    return
  }
  const { operationId, public: isPublic } = route.config ?? {}
  if (operationId === undefined)
    throw new Error(`${String(route.method)} ${route.url} has no config.operationId`)
  route.schema = { ...route.schema, operationId, ...(isPublic === true ? { security: [] } : {}) }
}

async function describe(scope: ServiceScope, options: ServiceOptions): Promise<void> {
  await scope.register(swagger, {
    stripBasePath: true,
    openapi: {
      openapi: '3.2.0',
      info: { title: options.title, description: options.description, version: options.version },
      servers: [{ url: options.prefix }],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
      security: [{ bearer: [] }],
    },
    transformObject: (document) => {
      const openapi = 'openapiObject' in document ? document.openapiObject : document.swaggerObject
      allowAbsentBodies(openapi as Parameters<typeof allowAbsentBodies>[0])
      return openapi
    },
  })
  scope.get('/openapi.json', { schema: { hide: true } }, () => scope.swagger())
  await scope.register(async (docs) => {
    docs.addHook('onRequest', (_request, reply, done) => {
      // The reference page runs its own bundled script and styles, nothing from elsewhere.
      reply.header(
        'content-security-policy',
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'",
      )
      done()
    })
    await docs.register(scalar, {
      routePrefix: '/docs',
      configuration: {
        url: `${options.prefix}/openapi.json`,
        withDefaultFonts: false,
        // Nothing of a company's API goes to the reference's vendor.
        telemetry: false,
        agent: { disabled: true },
        mcp: { disabled: true },
        showDeveloperTools: 'never',
        hideClientButton: true,
      },
    })
  })
}

interface BodyDescription {
  required?: boolean
  content?: Record<string, { schema?: { anyOf?: { type?: string }[] } }>
}

/** The generator marks every body as required; QUERY's is optional throughout, others where null is allowed. */
function allowAbsentBodies(document: {
  paths?: Record<string, Record<string, { requestBody?: BodyDescription }>>
}): void {
  for (const operations of Object.values(document.paths ?? {})) {
    for (const [method, { requestBody }] of Object.entries(operations)) {
      const choices = requestBody?.content?.['application/json']?.schema?.anyOf ?? []
      const mayBeAbsent = method === 'query' || choices.some(({ type }) => type === 'null')
      if (requestBody !== undefined && mayBeAbsent) requestBody.required = false
    }
  }
}
