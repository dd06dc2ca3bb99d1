import { createGuard, type GuardDeps, type RateLimits } from '@atrium/access'
import type { ServiceScope } from '@atrium/kernel/http'
import { workflowsAccess } from '../access.ts'
import type { WorkflowsContext } from '../context.ts'
import { taskTemplateRoutes } from './task-templates.ts'
import { versionRoutes } from './versions.ts'
import { workflowRoutes } from './workflows.ts'

/**
 * All routes of the service. Who may call which is in `access.ts`; `{W}` is `/v1/spaces/{spaceId}/workflows`.
 *
 *   anyone   GET /v1/task-templates
 *   members  GET {W} · PUT GET DELETE {W}/{workflowId}
 *            GET …/{workflowId}/versions · PUT GET DELETE …/versions/{versionId} · POST …/versions:validate
 */
export function workflowsRoutes(
  scope: ServiceScope,
  ctx: WorkflowsContext,
  access: GuardDeps,
  limits: RateLimits,
): void {
  const guard = createGuard(workflowsAccess, access, limits)
  taskTemplateRoutes(scope, guard)
  workflowRoutes(scope, ctx, guard)
  versionRoutes(scope, ctx, guard)
}
