import { callerOf } from '@atrium/access'
import type { ServiceScope } from '@atrium/kernel/http'
import { errors } from '../contract/common.ts'
import { FeatureFlagHealth, FeatureFlags } from '../contract/feature-flags.ts'
import type { FeatureFlags as Flags } from '../domain/feature-flags.ts'
import type { PortalGuard } from './guard.ts'

const tags = ['Feature flags']

export function featureFlagRoutes(
  scope: ServiceScope,
  { flags }: { readonly flags: Flags },
  guard: PortalGuard,
): void {
  scope.route({
    method: 'GET',
    url: '/v1/feature-flags',
    ...guard('getFeatureFlags'),
    schema: {
      tags,
      summary: 'The feature flags as they are for the caller',
      response: { 200: FeatureFlags, ...errors() },
    },
    handler: (request) => flags.evaluate(callerOf(request)),
  })

  scope.route({
    method: 'GET',
    url: '/v1/feature-flags/health',
    ...guard('getFeatureFlagHealth'),
    schema: { tags, summary: 'How the source of the flags is', response: { 200: FeatureFlagHealth } },
    handler: async () => {
      const { sidecarHealthy, available, agentUrl } = await flags.health()
      return {
        status: sidecarHealthy && available ? 'healthy' : 'degraded',
        sidecarHealthy,
        serviceStatus: { available, agentUrl },
      }
    },
  })
}
