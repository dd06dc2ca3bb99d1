import { actOfCaller } from '@atrium/access'
import type { ServiceScope } from '@atrium/kernel/http'
import type { WorkflowsContext } from '../context.ts'
import { ErrorBody } from '../contract/common.ts'
import { WebhookHeaders, WebhookParams, WebhookRun } from '../contract/triggers.ts'
import { callWebhook, findWebhook } from '../domain/webhooks.ts'
import type { TriggerRow } from '../queries/triggers.ts'
import type { WorkflowsGuard } from './guard.ts'

const refusals = Object.fromEntries(
  [401, 404, 409, 413, 422, 429, 503].map((status) => [status, ErrorBody]),
) as Record<401 | 404 | 409 | 413 | 422 | 429 | 503, typeof ErrorBody>

/** The address is the credential: a body is read only once it is known, and as it came, for it may be signed. */
export async function webhookRoutes(
  scope: ServiceScope,
  ctx: WorkflowsContext,
  guard: WorkflowsGuard,
): Promise<void> {
  const found = new WeakMap<object, TriggerRow>()
  await scope.register(async (raw: ServiceScope) => {
    raw.removeAllContentTypeParsers()
    raw.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    raw.route({
      method: 'POST',
      url: '/v1/webhooks/:webhookSecret',
      config: guard('callWebhook').config,
      onRequest: async (request) => {
        const { webhookSecret } = request.params
        found.set(request, await findWebhook(ctx, webhookSecret))
        // Whatever the caller calls its body, or fails to: it is bytes.
        if (request.headers['content-type'] !== undefined)
          request.raw.headers['content-type'] = 'application/octet-stream'
      },
      schema: {
        tags: ['Webhooks'],
        summary: 'Start the run of a webhook; whatever the body says is not read',
        params: WebhookParams,
        headers: WebhookHeaders,
        response: { 201: WebhookRun, ...refusals },
      },
      handler: async (request, reply) => {
        const trigger = found.get(request)
        if (trigger === undefined) throw new Error('a webhook was called that was not looked up')
        const call = {
          secret: request.params.webhookSecret,
          body: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
          signature: request.headers['x-signature-256'],
        }
        const name = `${trigger.workflow_id}/${trigger.trigger_id}`
        const act = actOfCaller(request, { kind: 'system', qxId: 'webhook', name })
        const row = await callWebhook(ctx, trigger, call, act)
        return reply.code(201).send({ workflowId: row.workflow_id, runId: row.run_id, status: row.status })
      },
    })
  })
}
