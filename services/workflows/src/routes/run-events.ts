import { type ServerSentEvent, type ServiceScope, serverSentEvents } from '@atrium/kernel/http'
import type { WorkflowsContext } from '../context.ts'
import { errors, NoContent } from '../contract/common.ts'
import { RunEvent, RunEventHeaders } from '../contract/run-events.ts'
import { RunParams } from '../contract/runs.ts'
import { followRun } from '../domain/runs/follow-run.ts'
import type { RunEventRow } from '../queries/run-events.ts'
import { endWith, sendEvents } from './event-stream.ts'
import type { WorkflowsGuard } from './guard.ts'

const present = ({ seq, event: { type, ...data } }: RunEventRow): ServerSentEvent => ({
  id: String(seq),
  event: type,
  data,
})

async function* presented(
  batches: AsyncGenerator<readonly RunEventRow[]>,
): AsyncGenerator<readonly ServerSentEvent[]> {
  for await (const batch of batches) yield batch.map(present)
}

export function runEventRoutes(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  // Else the server waits for the end of runs.
  scope.addHook('preClose', async () => ctx.runFollowers.close())
  scope.route({
    method: 'GET',
    url: '/v1/spaces/:spaceId/workflows/:workflowId/runs/:runId/events',
    ...guard('followRun'),
    schema: {
      tags: ['Runs'],
      summary: 'Follow the changes of a run and its tasks until it has ended',
      params: RunParams,
      headers: RunEventHeaders,
      response: {
        200: serverSentEvents('Changes, the oldest first; the answer ends with the run', RunEvent),
        204: { ...NoContent, description: 'The run has ended, and nothing came after that event' },
        ...errors(400, 403, 404),
      },
    },
    handler: async (request, reply) => {
      const after = Number(request.headers['last-event-id'] ?? 0)
      const batches = await followRun(ctx, request.params, after, endWith(reply))
      if (batches === undefined) return reply.code(204).send(null)
      return reply.send(sendEvents(reply, presented(batches)))
    },
  })
}
