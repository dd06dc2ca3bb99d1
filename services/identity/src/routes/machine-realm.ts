import type { ServiceScope } from '@atrium/kernel/http'
import type { MachineContext } from '../context.ts'
import {
  Discovery,
  Empty,
  errors,
  IntrospectionRequest,
  IntrospectionResponse,
  KeySet,
  RevocationRequest,
  TokenRequest,
  TokenResponse,
} from '../contract/index.ts'
import { MACHINE_PATH, MACHINE_ROUTES } from '../domain/realms.ts'
import { FORM, handOverTo, leaveForms } from './hand-over.ts'
import { publicRoute } from './public-route.ts'

/** Routes of the realm that serves machines; each hands the raw request over to the OAuth library. */
export function machineRealmRoutes(parent: ServiceScope, context: MachineContext): void {
  void parent.register((scope: ServiceScope, _options, ready) => {
    leaveForms(scope)

    const handOver = handOverTo(context.machineRealm)

    scope.route({
      method: 'POST',
      url: `${MACHINE_PATH}${MACHINE_ROUTES.token}`,
      ...publicRoute('issueMachineToken'),
      schema: {
        tags: ['Machine tokens'],
        summary: 'Get an access token by client credentials (form or HTTP Basic)',
        consumes: [FORM],
        body: TokenRequest,
        response: { 200: TokenResponse, ...errors(400, 401, 413, 429, 500, 503) },
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
        response: { 200: IntrospectionResponse, ...errors(400, 401, 413, 429, 500, 503) },
      },
      handler: handOver(MACHINE_ROUTES.introspection),
    })

    scope.route({
      method: 'POST',
      url: `${MACHINE_PATH}${MACHINE_ROUTES.revocation}`,
      ...publicRoute('revokeMachineToken'),
      schema: {
        tags: ['Machine tokens'],
        summary: 'Give up one of the calling client’s own tokens; it ends everywhere within a second',
        consumes: [FORM],
        body: RevocationRequest,
        response: { 200: Empty, ...errors(400, 401, 413, 429, 500, 503) },
      },
      handler: handOver(MACHINE_ROUTES.revocation),
    })

    describeRoutes(scope, handOver)
    ready()
  })
}

function describeRoutes(scope: ServiceScope, handOver: ReturnType<typeof handOverTo>): void {
  scope.route({
    method: 'GET',
    url: `${MACHINE_PATH}/.well-known/openid-configuration`,
    ...publicRoute('getMachineDiscovery'),
    schema: {
      tags: ['Machine tokens'],
      summary: 'Where the endpoints of this issuer are',
      response: { 200: Discovery },
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
      response: { 200: KeySet },
    },
    handler: handOver(MACHINE_ROUTES.jwks),
  })
}
