import { createGuard, type GuardDeps, type RateLimits } from '@atrium/access'
import type { ServiceScope } from '@atrium/kernel/http'
import { workflowsAccess } from '../access.ts'
import type { WorkflowsContext } from '../context.ts'
import { configurationRoutes } from './configurations.ts'
import { runArtifactRoutes } from './run-artifacts.ts'
import { runEventRoutes } from './run-events.ts'
import { runLogRoutes } from './run-logs.ts'
import { runMetricRoutes } from './run-metrics.ts'
import { runRoutes } from './runs.ts'
import { secretRoutes } from './secrets.ts'
import { stageRoutes } from './stages.ts'
import { taskTemplateRoutes } from './task-templates.ts'
import { triggerRoutes } from './triggers.ts'
import { versionRoutes } from './versions.ts'
import { webhookRoutes } from './webhooks.ts'
import { workflowRoutes } from './workflows.ts'

/**
 * All routes of the service. Who may call which is in `access.ts`; `{W}` is `/v1/spaces/{spaceId}/workflows`.
 *
 *   anyone   GET /v1/task-templates
 *   members  GET {W} · PUT GET DELETE {W}/{workflowId}
 *            GET …/{workflowId}/versions · PUT GET DELETE …/versions/{versionId} · POST …/versions:validate
 *            GET …/{workflowId}/stages · PUT GET DELETE …/stages/{stage}
 *            GET …/{workflowId}/configurations · PUT GET DELETE …/configurations/{configurationId}
 *            GET /v1/spaces/{spaceId}/secrets · GET …/secrets/{name}
 *            POST GET …/{workflowId}/runs · GET DELETE …/runs/{runId} · POST …/runs/{runId}:cancel, :retry
 *            GET …/runs/{runId}/events, logs, metrics, artifacts, artifacts/{task}/{path}
 *            GET …/{workflowId}/triggers · PUT GET DELETE …/triggers/{triggerId}
 *            POST …/triggers/{triggerId}:invoke, :rotate-secret
 *   owners   PUT DELETE /v1/spaces/{spaceId}/secrets/{name}
 *   public   POST /v1/webhooks/{webhookSecret}
 */
export async function workflowsRoutes(
  scope: ServiceScope,
  ctx: WorkflowsContext,
  access: GuardDeps,
  limits: RateLimits,
): Promise<void> {
  // The database takes UUIDs in any case; locks, files and what is sealed take one.
  scope.addHook('onRequest', async ({ params }) => lowerIds(params as Record<string, string>))
  const guard = createGuard(workflowsAccess, access, limits)
  taskTemplateRoutes(scope, guard)
  workflowRoutes(scope, ctx, guard)
  versionRoutes(scope, ctx, guard)
  stageRoutes(scope, ctx, guard)
  configurationRoutes(scope, ctx, guard)
  secretRoutes(scope, ctx, guard)
  runRoutes(scope, ctx, guard)
  runEventRoutes(scope, ctx, guard)
  triggerRoutes(scope, ctx, guard)
  await webhookRoutes(scope, ctx, guard)
  runLogRoutes(scope, ctx, guard)
  runArtifactRoutes(scope, ctx, guard)
  runMetricRoutes(scope, ctx, guard)
}

/** Those that the platform makes. */
const MADE = ['spaceId', 'runId']

function lowerIds(params: Record<string, string>): void {
  for (const name of MADE) if (params[name] !== undefined) params[name] = params[name].toLowerCase()
}
