import { createGuard, type GuardDeps, type RateLimits } from '@atrium/access'
import type { ServiceScope } from '@atrium/kernel/http'
import { workflowsAccess } from '../access.ts'
import type { WorkflowsContext } from '../context.ts'
import { workflowRoutes } from './workflows.ts'

/**
 * All routes of the service. Who may call which is in `access.ts`; `{W}` is `/v1/spaces/{spaceId}/workflows`.
 *
 *   members  GET {W} · PUT GET DELETE {W}/{workflowId}
 */
export function workflowsRoutes(
  scope: ServiceScope,
  ctx: WorkflowsContext,
  access: GuardDeps,
  limits: RateLimits,
): void {
  const guard = createGuard(workflowsAccess, access, limits)
  workflowRoutes(scope, ctx, guard)
}
