import swagger from '@fastify/swagger'
import scalar from '@scalar/fastify-api-reference'
import type { FastifyError, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { TSchema } from 'typebox'
import { AppError, isUnavailable } from '../errors.ts'
import { keepOpen } from './bodies.ts'
import { fillAbsentBodies } from './contract.ts'
import { describeFaults, type Fault } from './faults.ts'
import { finishDocument, lowered, type OpenApiDocument } from './openapi.ts'
import type { HttpServer } from './server.ts'
import { answerUnknownRoutes } from './unknown-routes.ts'

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
  /** What `formatError` returns. */
  readonly errorBody: TSchema
  /** How the reference groups the operations, in its order. */
  readonly tags?: readonly { readonly name: string; readonly description: string }[]
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

function viewOf(error: FastifyError | AppError, requestId: string, validationStatus: number): ErrorView {
  if (error instanceof AppError) {
    return { status: error.status, code: error.code, message: error.message, field: error.field, requestId }
  }
  if (error.validation !== undefined) {
    const part = error.validationContext === 'querystring' ? 'query' : (error.validationContext ?? 'body')
    const { field, message } = describeFaults(error.validation as Fault[], part)
    const status = part === 'body' ? validationStatus : 400
    return { status, code: 'invalid_input', message, field, requestId }
  }
  if (error.code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return {
      status: 400,
      code: 'invalid_content_type',
      message: error.message,
      field: 'content-type',
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
 * OpenAPI 3.2 at `/openapi.json` (3.1 for generators at `/openapi-3.1.json`) and its reference at `/docs`.
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
        if (view.status >= 500) {
          // An outage of the database is logged once, not by each request.
          const level = isUnavailable(error) ? 'debug' : 'error'
          request.log[level]({ err: error, requestId: request.id }, 'request failed')
        }
        keepOpen(request, reply)
        if (error instanceof AppError && error.headers !== undefined) reply.headers(error.headers)
        return reply
          .code(view.status)
          .type('application/json; charset=utf-8')
          .serializer(JSON.stringify)
          .send(options.formatError(view))
      }
      scope.setErrorHandler<FastifyError | AppError>(answer)
      answerUnknownRoutes(scope, options.prefix)
      await describe(scope, options)
      await scope.register(async (routes: ServiceScope) => {
        routes.addHook('onRoute', (route) => describeOperation(route, options.errorBody))
        routes.addHook('onRoute', fillAbsentBodies)
        await options.routes(routes)
      })
    },
    { prefix: options.prefix },
  )
}

/** What any operation may answer, those that ask for a credential, and those with parts of the path to fill: routes need not declare it. */
const COMMON_TO_ALL = [500]
const COMMON_TO_GUARDED = [429, 503]
const COMMON_TO_PARAMETERS = [414]

/** Every route is an operation with a name: OpenAPI, the access table and the tests know it by that. */
function describeOperation(route: RouteOptions, errorBody: TSchema): void {
  if (route.method === 'HEAD') {
    route.schema = { ...route.schema, hide: true }
    return
  }
  const { operationId, public: isPublic } = route.config ?? {}
  if (operationId === undefined)
    throw new Error(`${String(route.method)} ${route.url} has no config.operationId`)
  const common = [
    ...COMMON_TO_ALL,
    ...(isPublic === true ? [] : COMMON_TO_GUARDED),
    ...(route.url.includes('/:') ? COMMON_TO_PARAMETERS : []),
  ]
  route.schema = {
    ...route.schema,
    operationId,
    ...(isPublic === true ? { security: [] } : {}),
    response: {
      ...Object.fromEntries(common.map((status) => [status, errorBody])),
      ...(route.schema?.response as object | undefined),
    },
  }
}

async function describe(scope: ServiceScope, options: ServiceOptions): Promise<void> {
  await scope.register(swagger, {
    stripBasePath: true,
    openapi: {
      openapi: '3.2.0',
      info: { title: options.title, description: options.description, version: options.version },
      ...(options.tags === undefined ? {} : { tags: [...options.tags] }),
      servers: [{ url: options.prefix }],
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
      security: [{ bearer: [] }],
    },
    transformObject: (document) => {
      const openapi = 'openapiObject' in document ? document.openapiObject : document.swaggerObject
      finishDocument(openapi as OpenApiDocument)
      return openapi
    },
  })
  scope.get('/openapi.json', { schema: { hide: true } }, () => scope.swagger())
  scope.get('/openapi-3.1.json', { schema: { hide: true } }, () => lowered(scope.swagger()))
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
