import type { Readable } from 'node:stream'
import { type ServerSentEvent, type ServiceScope, streamBytes } from '@atrium/kernel/http'
import type { FastifyReply } from 'fastify'
import type { WorkflowsContext } from '../context.ts'
import { errors } from '../contract/common.ts'
import { LogAnswer, LogHeaders, type LogPiece, LogQuery, RunResultParams } from '../contract/results.ts'
import { demandRun, followLog, type LogRequest, readLog } from '../domain/results/logs.ts'
import type { Follower } from '../domain/runs/followers.ts'
import type { LogPiece as StoredPiece } from '../queries/run-logs.ts'
import { timestamp } from './answers.ts'
import { endWith, sendEvents, UNBUFFERED } from './event-stream.ts'
import type { WorkflowsGuard } from './guard.ts'

const present = ({ task, attempt, at, text }: StoredPiece): LogPiece => ({
  task,
  attempt,
  at: timestamp(at),
  text,
})

const EVENTS = 'text/event-stream'

/** Whoever follows gets events unless they ask for text alone. */
function wantsEvents(accept: string | undefined, follow: boolean): boolean {
  if (accept?.includes(EVENTS) === true) return true
  return follow && accept?.includes('text/plain') !== true
}

const lastSeen = (id = ''): number => Number(id)

export function runLogRoutes(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  // A stop waits for answers under way: those that would not end by themselves end now, and readers come again.
  scope.addHook('preClose', async () => ctx.logFollowers.close())
  scope.route({
    method: 'GET',
    url: '/v1/spaces/:spaceId/workflows/:workflowId/runs/:runId/logs',
    ...guard('readRunLogs'),
    schema: {
      tags: ['Runs'],
      summary: 'Read or follow the log of a run or of one of its tasks',
      params: RunResultParams,
      querystring: LogQuery,
      headers: LogHeaders,
      response: { 200: LogAnswer, ...errors(400, 403, 404, 429) },
    },
    handler: async (request, reply) => {
      const { task, attempt, follow } = request.query
      const after = lastSeen(request.headers['last-event-id'])
      const wanted: LogRequest = { ...request.params, task, attempt, after }
      await demandRun(ctx.db, wanted, task)
      const sends = wantsEvents(request.headers.accept, follow) ? sendAsEvents : sendAsText
      const follower = ctx.logFollowers.follow(wanted.spaceId, wanted.runId)
      endWith(reply)(follower)
      return reply.send(sends(ctx, reply, wanted, { follower, follow }))
    },
  })
}

interface Following {
  readonly follower: Follower
  readonly follow: boolean
}

function sendAsEvents(
  { db }: WorkflowsContext,
  reply: FastifyReply,
  wanted: LogRequest,
  { follower, follow }: Following,
): Readable {
  async function* events(): AsyncGenerator<readonly ServerSentEvent[]> {
    const pieces = follow ? followLog(db, wanted, follower) : readLog(db, wanted)
    for (;;) {
      const next = await pieces.next()
      if (next.done === true) {
        const status = next.value ?? undefined
        if (status !== undefined) yield [{ event: 'end', data: { status } }]
        return
      }
      yield next.value.map((piece) => ({ id: String(piece.seq), event: 'log', data: present(piece) }))
    }
  }
  return sendEvents(reply, events())
}

function sendAsText(
  { db }: WorkflowsContext,
  reply: FastifyReply,
  wanted: LogRequest,
  { follower, follow }: Following,
): Readable {
  void reply.type('text/plain; charset=utf-8').headers(UNBUFFERED)
  const lineOf = ({ task, text }: StoredPiece): string =>
    wanted.task === undefined ? text.replace(/^(?=[^\n]|\n.)/gm, `${task} | `) : text
  async function* text(): AsyncGenerator<Buffer> {
    for await (const pieces of follow ? followLog(db, wanted, follower) : readLog(db, wanted)) {
      yield Buffer.from(pieces.map(lineOf).join(''))
    }
  }
  return streamBytes(text())
}
