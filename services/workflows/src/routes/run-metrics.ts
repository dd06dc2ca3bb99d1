import type { ServiceScope } from '@atrium/kernel/http'
import type { WorkflowsContext } from '../context.ts'
import { errors } from '../contract/common.ts'
import { type Metric, MetricPage, MetricQuery, RunResultParams } from '../contract/results.ts'
import { listMetrics } from '../domain/results/metrics.ts'
import type { MetricRow } from '../queries/run-metrics.ts'
import { timestamp } from './answers.ts'
import type { WorkflowsGuard } from './guard.ts'

const present = ({ task, name, step, value, at }: MetricRow): Metric => ({
  task,
  name,
  step,
  value,
  at: timestamp(at),
})

export function runMetricRoutes(scope: ServiceScope, ctx: WorkflowsContext, guard: WorkflowsGuard): void {
  scope.route({
    method: 'GET',
    url: '/v1/spaces/:spaceId/workflows/:workflowId/runs/:runId/metrics',
    ...guard('listRunMetrics'),
    schema: {
      tags: ['Runs'],
      summary: 'List the numbers that the tasks of a run have left, in their order',
      params: RunResultParams,
      querystring: MetricQuery,
      response: { 200: MetricPage, ...errors(400, 403, 404) },
    },
    handler: async (request) => {
      const { rows, next } = await listMetrics(ctx, request.params, request.query)
      return { metrics: rows.map(present), nextPageToken: next }
    },
  })
}
