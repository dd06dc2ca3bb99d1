import { actOf } from '@atrium/access'
import { ifMatchVersions, type ServiceScope, setEtag, withEtag } from '@atrium/kernel/http'
import type { Static } from 'typebox'
import type { PortalContext } from '../context.ts'
import {
  type CdhLink,
  CdhLinkChanges,
  CdhLinkCore,
  CdhLinkInput,
  CdhLinkList,
  CdhLinkParams,
  CdhLinkQuery,
  KnownCdhLinkParams,
} from '../contract/cdh-links.ts'
import { bodyErrors, errors, NoContent, SpaceParams } from '../contract/common.ts'
import { addressOf, createCdhLink, deleteCdhLink, listCdhLinks, updateCdhLink } from '../domain/cdh-links.ts'
import type { CdhLinkRow } from '../queries/cdh-links.ts'
import { presentStamps } from './authors.ts'
import type { PortalGuard } from './guard.ts'
import { answerList } from './lists.ts'

const tags = ['Data-hub links']
const path = '/v1/spaces/:spaceId/cdh-links'

function presentCore(row: CdhLinkRow, dataHubUrl: string): Static<typeof CdhLinkCore> {
  const fields = {
    cdhEnvAccountID: row.cdh_env_account_id,
    name: row.name,
    cdhType: row.cdh_type,
    cdhHub: row.cdh_hub,
    cdhProviderId: row.cdh_provider_id,
    cdhUseCaseId: row.cdh_use_case_id,
    stage: row.stage,
  }
  return {
    cdhWorkspaceId: row.cdh_workspace_id,
    spaceId: row.space_id,
    ...fields,
    cdhLink: addressOf(dataHubUrl, fields),
  }
}

const present = (row: CdhLinkRow, dataHubUrl: string): Static<typeof CdhLink> => ({
  ...presentCore(row, dataHubUrl),
  ...presentStamps(row),
})

export function cdhLinkRoutes(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  cdhLinkCollection(scope, ctx, guard)
  oneCdhLink(scope, ctx, guard)
}

function cdhLinkCollection(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'GET',
    url: path,
    ...guard('listCdhLinks'),
    schema: {
      tags,
      summary: 'List the data-hub links of a space',
      params: SpaceParams,
      querystring: CdhLinkQuery,
      response: { 200: CdhLinkList, ...errors(400, 403, 404) },
    },
    handler: async (request, reply) => {
      const listed = await listCdhLinks(ctx, request.params.spaceId, request.query)
      return answerList(reply, listed, (row) => present(row, ctx.env.ATRIUM_DATA_HUB_URL))
    },
  })

  scope.route({
    method: 'POST',
    url: path,
    ...guard('createCdhLink'),
    schema: {
      tags,
      summary: 'Link a data-hub environment to a space',
      params: SpaceParams,
      body: CdhLinkInput,
      response: { 201: withEtag(CdhLinkCore), ...bodyErrors, ...errors(403, 404, 409) },
    },
    handler: async (request, reply) => {
      const { spaceId } = request.params
      const row = await createCdhLink(ctx, spaceId, request.body, actOf(request))
      setEtag(reply, row.version)
      return reply.code(201).send(presentCore(row, ctx.env.ATRIUM_DATA_HUB_URL))
    },
  })
}

function oneCdhLink(scope: ServiceScope, ctx: PortalContext, guard: PortalGuard): void {
  scope.route({
    method: 'PATCH',
    url: `${path}/:cdhworkspaceId`,
    ...guard('updateCdhLink'),
    schema: {
      tags,
      summary: 'Change the given fields of a data-hub link',
      params: CdhLinkParams,
      body: CdhLinkChanges,
      response: { 200: withEtag(CdhLinkCore), ...bodyErrors, ...errors(403, 404, 409, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId, cdhworkspaceId } = request.params
      const act = actOf(request)
      const versions = ifMatchVersions(request)
      const row = await updateCdhLink(ctx, spaceId, cdhworkspaceId, request.body, act, versions)
      setEtag(reply, row.version)
      return presentCore(row, ctx.env.ATRIUM_DATA_HUB_URL)
    },
  })

  scope.route({
    method: 'DELETE',
    url: `${path}/:cdhworkspaceId`,
    ...guard('deleteCdhLink'),
    schema: {
      tags,
      summary: 'Unlink a data-hub environment from a space',
      params: KnownCdhLinkParams,
      response: { 204: NoContent, ...errors(400, 403, 404, 412) },
    },
    handler: async (request, reply) => {
      const { spaceId, cdhworkspaceId } = request.params
      await deleteCdhLink(ctx, spaceId, cdhworkspaceId, actOf(request), ifMatchVersions(request))
      return reply.code(204).send(null)
    },
  })
}
