import { AppError } from '@atrium/kernel/errors'
import type { ServiceScope } from '@atrium/kernel/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import {
  Discovery,
  errors,
  IntrospectionRequest,
  IntrospectionResponse,
  KeySet,
  TokenRequest,
  TokenResponse,
} from '../contract/index.ts'
import { MACHINE_PATH, MACHINE_ROUTES } from '../domain/realms.ts'
import type { IdentityContext } from './context.ts'
import { publicRoute } from './public-route.ts'

const MAX_FORM_BYTES = 16_384
const FORM = 'application/x-www-form-urlencoded'

/** OAuth reads forms. The library parses them itself, so the body is left in the stream. */
function useForms(scope: ServiceScope): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(FORM, (request, _payload, done) => {
    if (Number(request.headers['content-length'] ?? 0) > MAX_FORM_BYTES) {
      done(new AppError(413, 'body_too_large', `The form is larger than ${MAX_FORM_BYTES} bytes`))
      return
    }
    done(null)
  })
  scope.addContentTypeParser('*', (_request, payload, done) => {
    payload.resume()
    done(new AppError(400, 'invalid_content_type', `Send the parameters as ${FORM}`))
  })
  // The contract describes forms; checking them is the library's part.
  scope.setValidatorCompiler(() => () => true)
}

/** Routes of the realm that serves machines; each hands the raw request over to the OAuth library. */
export function machineRealmRoutes(parent: ServiceScope, context: IdentityContext): void {
  void parent.register((scope: ServiceScope, _options, ready) => {
    useForms(scope)

    const handOver = (path: string) => async (request: FastifyRequest, reply: FastifyReply) => {
      const answer = context.machineRealm()
      reply.hijack()
      for (const [name, value] of Object.entries(reply.getHeaders())) {
        if (value !== undefined) reply.raw.setHeader(name, value)
      }
      // The library routes below its issuer's path; a query has no meaning on any of these.
      request.raw.url = path
      await answer(request.raw, reply.raw, request.ip)
    }

    scope.route({
      method: 'POST',
      url: `${MACHINE_PATH}${MACHINE_ROUTES.token}`,
      ...publicRoute('issueMachineToken'),
      schema: {
        tags: ['Machine tokens'],
        summary: 'Get an access token by client credentials (form or HTTP Basic)',
        consumes: [FORM],
        body: TokenRequest,
        response: { 200: TokenResponse, ...errors(400, 401, 413, 429, 500) },
      },
      handler: handOver(MACHINE_ROUTES.token),
    })

    scope.route({
      method: 'POST',
      url: `${MACHINE_PATH}${MACHINE_ROUTES.introspection}`,
      ...publicRoute('introspectMachineToken'),
      schema: {
        tags: ['Machine tokens'],
        summary: 'Ask whether one of the calling client’s own tokens is active',
        consumes: [FORM],
        body: IntrospectionRequest,
        response: { 200: IntrospectionResponse, ...errors(400, 401, 413, 429, 500) },
      },
      handler: handOver(MACHINE_ROUTES.introspection),
    })

    scope.route({
      method: 'GET',
      url: `${MACHINE_PATH}/.well-known/openid-configuration`,
      ...publicRoute('getMachineDiscovery'),
      schema: {
        tags: ['Machine tokens'],
        summary: 'Where the endpoints of this issuer are',
        response: { 200: Discovery, ...errors(500) },
      },
      handler: handOver('/.well-known/openid-configuration'),
    })

    scope.route({
      method: 'GET',
      url: `${MACHINE_PATH}${MACHINE_ROUTES.jwks}`,
      ...publicRoute('getMachineKeys'),
      schema: {
        tags: ['Machine tokens'],
        summary: 'Public keys that verify the tokens',
        response: { 200: KeySet, ...errors(500) },
      },
      handler: handOver(MACHINE_ROUTES.jwks),
    })
    ready()
  })
}
