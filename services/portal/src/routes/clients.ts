import { actOf } from '@atrium/access'
import { ifMatchVersions, optionalBody, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { FastifyReply } from 'fastify'
import type { Static } from 'typebox'
import type { PortalContext } from '../context.ts'
import {
  ClientChanges,
  ClientInput,
  ClientList,
  ClientParams,
  ClientQuery,
  ClientWithSecret,
  MachineClient,
  SecretRotation,
} from '../contract/clients.ts'
import { bodyErrors, errors, NoContent } from '../contract/common.ts'
import {
  approveClient,
  createClient,
  deleteClient,
  getClient,
  type HandedOut,
  listClients,
  rotateClientSecret,
  updateClient,
} from '../domain/clients.ts'
import type { ClientRow } from '../queries/clients.ts'
import { presentStamps } from './authors.ts'
import type { PortalGuard } from './guard.ts'
import { answerList } from './lists.ts'

const tags = ['Machine clients']
const path = '/v1/admin/clients'

const present = (row: ClientRow): Static<typeof MachineClient> => ({
  clientId: row.client_id,
  name: row.name,
  environment: row.environment,
  status: row.status,
  tokenLifetimeSeconds: row.token_lifetime_seconds,
  grants: row.grants.map(({ spaceId, role }) => ({ spaceId, role })),
  superuser: row.is_superuser,
  ...(row.mail_address === '' ? {} : { mailAddress: row.mail_address }),
  ...(row.approved_at === null ? {} : { approvedAt: row.approved_at.toISOString() }),
  ...presentStamps(row),
})

function answer(reply: FastifyReply, row: ClientRow): Static<typeof MachineClient> {
  setEtag(reply, row.version)
  return present(row)
}

const handOver = (reply: FastifyReply, { row, secret }: HandedOut): Static<typeof ClientWithSecret> => ({
  ...answer(reply, row),
  ...(secret === undefined
    ? { delivery: 'mail' as const }
    : { delivery: 'answer' as const, clientSecret: secret }),
})

export function clientRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  clientCollection(scope, ctx, guard)
  oneClient(scope, ctx, guard)
  clientSecrets(scope, ctx, guard)
}

function clientCollection(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'POST',
    url: path,
    ...guard('createClient'),
    schema: {
      tags,
      summary: 'Register a machine client; it gets its secret when it is approved',
      body: ClientInput,
      response: { 201: withEtag(MachineClient), ...bodyErrors, ...errors(403, 409) },
    },
    handler: async (request, reply) => {
      const row = await createClient(ctx, request.body, actOf(request))
      return reply.code(201).send(answer(reply, row))
    },
  })

  scope.route({
    method: 'GET',
    url: path,
    ...guard('listClients'),
    schema: {
      tags,
      summary: 'List the machine clients',
      querystring: ClientQuery,
      response: { 200: ClientList, ...errors(400, 403) },
    },
    handler: async (request, reply) => answerList(reply, await listClients(ctx, request.query), present),
  })
}

function oneClient(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'GET',
    url: `${path}/:clientId`,
    ...guard('getClient'),
    schema: {
      tags,
      summary: 'Read a machine client',
      params: ClientParams,
      response: { 200: withEtag(MachineClient), ...errors(403, 404) },
    },
    handler: async (request, reply) => answer(reply, await getClient(ctx, request.params.clientId)),
  })

  scope.route({
    method: 'PATCH',
    url: `${path}/:clientId`,
    ...guard('updateClient'),
    schema: {
      tags,
      summary: 'Change the given fields of a machine client; grants are replaced as a whole',
      params: ClientParams,
      body: ClientChanges,
      response: { 200: withEtag(MachineClient), ...bodyErrors, ...errors(403, 404, 409, 412) },
    },
    handler: async (request, reply) => {
      const { clientId } = request.params
      const versions = ifMatchVersions(request)
      return answer(reply, await updateClient(ctx, clientId, request.body, actOf(request), versions))
    },
  })

  scope.route({
    method: 'DELETE',
    url: `${path}/:clientId`,
    ...guard('deleteClient'),
    schema: {
      tags,
      summary: 'Remove a machine client with its grants and secrets',
      params: ClientParams,
      response: { 204: NoContent, ...errors(403, 404, 412) },
    },
    handler: async (request, reply) => {
      await deleteClient(ctx, request.params.clientId, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}

function clientSecrets(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'POST',
    url: `${path}/:clientId([^/]+)::approve`,
    ...guard('approveClient'),
    schema: {
      tags,
      summary: 'Make a registered client Active and hand out its secret, by mail or in the answer',
      params: ClientParams,
      response: { 200: withEtag(ClientWithSecret), ...bodyErrors, ...errors(403, 404, 409, 412, 502) },
    },
    handler: async (request, reply) => {
      const { clientId } = request.params
      return handOver(reply, await approveClient(ctx, clientId, actOf(request), ifMatchVersions(request)))
    },
  })

  scope.route({
    method: 'POST',
    url: `${path}/:clientId([^/]+)::rotate-secret`,
    ...guard('rotateClientSecret'),
    schema: {
      tags,
      summary: 'Give a client a new secret, by mail or in the answer; the old one works a while longer',
      params: ClientParams,
      body: optionalBody(SecretRotation),
      response: { 200: withEtag(ClientWithSecret), ...bodyErrors, ...errors(403, 404, 409, 412, 502) },
    },
    handler: async (request, reply) => {
      const { clientId } = request.params
      const { overlapSeconds } = request.body
      const versions = ifMatchVersions(request)
      return handOver(
        reply,
        await rotateClientSecret(ctx, clientId, overlapSeconds, actOf(request), versions),
      )
    },
  })
}
