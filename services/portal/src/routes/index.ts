import { createGuard } from '@atrium/access'
import type { ServiceScope } from '@atrium/kernel/http'
import { portalAccess } from '../access.ts'
import type { PortalContext } from '../context.ts'
import { apiKeyRoutes } from './api-keys.ts'
import { auditRoutes } from './audit.ts'
import { budgetRoutes } from './budgets.ts'
import { cdhLinkRoutes } from './cdh-links.ts'
import { clientRoutes } from './clients.ts'
import { costRoutes } from './costs.ts'
import { deletedSpaceRoutes } from './deleted-spaces.ts'
import { featureFlagRoutes } from './feature-flags.ts'
import { healthRoutes } from './health.ts'
import { invitationRoutes } from './invitations.ts'
import { permissionRoutes } from './permissions.ts'
import { spaceUserRoutes } from './space-users.ts'
import { spaceRoutes } from './spaces.ts'
import { superuserRoutes } from './superusers.ts'
import { spaceWorkflowRoutes, workspaceRoutes } from './workspaces.ts'

/**
 * All routes of the portal. Who may call which is in `access.ts`.
 *
 *   public    GET /health /liveness /readiness /v1/feature-flags/health
 *   anyone    GET /v1/feature-flags /v1/spaces · GET /v1/permissions/{…}
 *   people    POST /v1/invitations:accept
 *   members   GET /v1/spaces/{id} and its users, apikeys, mkflw-workspaces, cdh-links, budget, costs/report
 *   owners    PATCH /v1/spaces/{id} · DELETE …/apikeys/{id} · POST …/apikeys/{id}:rotate
 *   owners and superusers  PATCH …/apikeys/{id} · …/invitations · GET …/audit
 *   clients   POST …/costs · GET /v1/spaces-with-workflows
 *   superusers DELETE /v1/spaces/{id} · /v1/admin/deleted-spaces and …/{id}:restore
 *   superusers …/invitations/{id}:approve · DELETE /v1/admin/superuser/{id} · /v1/admin/invitations
 *   superusers everything else that writes · /v1/admin/superuser, clients, audit
 */
export async function portalRoutes(scope: ServiceScope, ctx: PortalContext): Promise<void> {
  const guard = createGuard(portalAccess, ctx.access, ctx.limits)
  healthRoutes(scope, ctx, guard)
  featureFlagRoutes(scope, ctx, guard)
  spaceRoutes(scope, ctx, guard)
  deletedSpaceRoutes(scope, ctx, guard)
  spaceUserRoutes(scope, ctx, guard)
  superuserRoutes(scope, ctx, guard)
  workspaceRoutes(scope, ctx, guard)
  cdhLinkRoutes(scope, ctx, guard)
  apiKeyRoutes(scope, ctx, guard)
  budgetRoutes(scope, ctx, guard)
  invitationRoutes(scope, ctx, guard)
  clientRoutes(scope, ctx, guard)
  auditRoutes(scope, ctx, guard)
  permissionRoutes(scope, ctx, guard)
  await costRoutes(scope, ctx, guard)
  spaceWorkflowRoutes(scope, ctx, guard)
}
