import { Readable } from 'node:stream'
import { isNotModified, type ServiceScope, streamBytes } from '@atrium/kernel/http'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static } from 'typebox'
import type { WorkflowsContext } from '../context.ts'
import { errors, spaceErrors } from '../contract/common.ts'
import {
  type Artifact,
  ArtifactBytes,
  ArtifactHeaders,
  ArtifactList,
  ArtifactParams,
  ArtifactQuery,
  ArtifactSame,
  RunResultParams,
  WildArtifactParams,
} from '../contract/results.ts'
import { getArtifact, listArtifacts, openArtifact } from '../domain/results/artifacts.ts'
import { contentTypeOf, dispositionOf } from '../domain/results/downloads.ts'
import type { ArtifactRow } from '../queries/run-artifacts.ts'
import { timestamp } from './answers.ts'
import type { WorkflowsGuard } from './guard.ts'

const tags = ['Runs']
const path = '/v1/spaces/:spaceId/workflows/:workflowId/runs/:runId/artifacts'

const present = (row: ArtifactRow): Artifact => ({
  task: row.task,
  path: row.path,
  attempt: row.attempt,
  size: row.size,
  mediaType: row.media_type,
  sha256: row.sha256.toString('hex'),
  createdAt: timestamp(row.created_at),
})

export function runArtifactRoutes(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'GET',
    url: path,
    ...guard('listRunArtifacts'),
    schema: {
      tags,
      summary: 'List the files that the tasks of a run have left',
      params: RunResultParams,
      querystring: ArtifactQuery,
      response: { 200: ArtifactList, ...errors(400, 403, 404) },
    },
    handler: async (request) => {
      const rows = await listArtifacts(ctx, request.params, request.query.task)
      return { items: rows.map(present), totalCount: rows.length }
    },
  })

  // Clients that are made from the contract write slashes of a name as %2F, people and links as they are.
  for (const [name, hide] of [
    [':path', false],
    ['*', true],
  ] as const) {
    scope.route({
      method: 'GET',
      url: `${path}/:task/${name}`,
      ...guard('downloadRunArtifact'),
      schema: {
        tags,
        summary: 'Download a file that a task has left',
        params: hide ? WildArtifactParams : ArtifactParams,
        headers: ArtifactHeaders,
        response: { 200: ArtifactBytes, 304: ArtifactSame, ...spaceErrors },
        hide,
      },
      handler: async (request, reply) => reply.send(await download(ctx, request, request.params, reply)),
    })
  }
}

async function download(
  ctx: WorkflowsContext,
  request: FastifyRequest,
  { task, ...params }: Static<typeof ArtifactParams> | Static<typeof WildArtifactParams>,
  reply: FastifyReply,
): Promise<Readable | null> {
  const row = await getArtifact(ctx, params, task, '*' in params ? params['*'] : params.path)
  const tag = `"${row.sha256.toString('hex')}"`
  void reply.headers({ etag: tag, 'cache-control': 'private, no-cache' })
  if (isNotModified(request, tag)) {
    void reply.code(304)
    return null
  }
  void reply.type(contentTypeOf(row.media_type)).headers({
    'content-length': row.size,
    'content-disposition': dispositionOf(row.path),
    // Were it shown in spite of all: no scripts, no origin, nothing from elsewhere.
    'content-security-policy': "default-src 'none'; sandbox",
    'x-content-type-options': 'nosniff',
  })
  if (request.method === 'HEAD') return Readable.from([])
  const bytes = await openArtifact(ctx, row)
  reply.raw.once('close', () => bytes.destroy())
  return streamBytes(bytes)
}
