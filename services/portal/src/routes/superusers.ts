import { actOf } from '@atrium/access'
import { ifMatchVersions, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { Static } from 'typebox'
import type { PortalContext } from '../context.ts'
import { bodyErrors, errors, NoContent } from '../contract/common.ts'
import {
  Superuser,
  SuperuserChanges,
  SuperuserInput,
  SuperuserList,
  SuperuserParams,
  SuperuserQuery,
} from '../contract/superusers.ts'
import {
  createSuperuser,
  listSuperuserPeople,
  removeSuperuser,
  updateSuperuser,
} from '../domain/superusers.ts'
import type { PersonRow } from '../queries/people.ts'
import type { PortalGuard } from './guard.ts'
import { answerList } from './lists.ts'

const tags = ['Superusers']

const present = (row: PersonRow): Static<typeof Superuser> => ({
  userId: row.user_id,
  qNumber: row.q_number,
  name: row.name,
  department: row.department,
  mailAddress: row.mail_address,
  superuser: true,
  createdBy: row.superuser_created_by ?? '',
  modifiedBy: row.superuser_modified_by ?? '',
  createdAt: (row.superuser_since ?? row.created_at).toISOString(),
  modifiedAt: (row.superuser_modified_at ?? row.created_at).toISOString(),
})

export function superuserRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'POST',
    url: '/v1/admin/superuser',
    ...guard('createSuperuser'),
    schema: {
      tags,
      summary: 'Make a person superuser',
      body: SuperuserInput,
      response: { 201: withEtag(Superuser), ...bodyErrors, ...errors(403, 409) },
    },
    handler: async (request, reply) => {
      const row = await createSuperuser(ctx, request.body, actOf(request))
      setEtag(reply, row.version)
      return reply.code(201).send(present(row))
    },
  })

  scope.route({
    method: 'GET',
    url: '/v1/admin/superuser',
    ...guard('listSuperusers'),
    schema: {
      tags,
      summary: 'List the superusers',
      querystring: SuperuserQuery,
      response: { 200: SuperuserList, ...errors(400, 403) },
    },
    handler: async (request, reply) =>
      answerList(reply, await listSuperuserPeople(ctx, request.query), present),
  })

  scope.route({
    method: 'PATCH',
    url: '/v1/admin/superuser/:userId',
    ...guard('updateSuperuser'),
    schema: {
      tags,
      summary: 'Change the given fields of a superuser',
      params: SuperuserParams,
      body: SuperuserChanges,
      response: { 200: withEtag(Superuser), ...bodyErrors, ...errors(403, 404, 409, 412) },
    },
    handler: async (request, reply) => {
      const { userId } = request.params
      const act = actOf(request)
      const row = await updateSuperuser(ctx, userId, request.body, act, ifMatchVersions(request))
      setEtag(reply, row.version)
      return present(row)
    },
  })

  scope.route({
    method: 'DELETE',
    url: '/v1/admin/superuser/:userId',
    ...guard('removeSuperuser'),
    schema: {
      tags,
      summary: 'Take a superuser’s rights away; never the last one’s',
      params: SuperuserParams,
      response: { 204: NoContent, ...errors(400, 403, 404, 409, 412) },
    },
    handler: async (request, reply) => {
      await removeSuperuser(ctx, request.params.userId, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}
