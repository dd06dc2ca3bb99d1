import { named } from '@atrium/kernel/http'
import Type from 'typebox'

export const FeatureFlag = named(
  'FeatureFlag',
  Type.Object({
    enabled: Type.Boolean({ description: 'Whether the feature is on for the caller' }),
    isPreview: Type.Boolean({ description: 'Whether the feature is shown as a preview' }),
  }),
)

/** By name; at least `enable_agent_feature`, `enable_cost_feature` and `enable_workflow_feature`. */
export const FeatureFlags = named(
  'FeatureFlags',
  Type.Record(Type.String(), FeatureFlag, {
    examples: [{ enable_cost_feature: { enabled: true, isPreview: false } }],
  }),
)

export const FeatureFlagHealth = named(
  'FeatureFlagHealth',
  Type.Object({
    status: Type.String({
      description: 'healthy, or degraded while last good or built-in values are served',
    }),
    sidecarHealthy: Type.Boolean({ description: 'Whether the flag agent answers; true where there is none' }),
    serviceStatus: Type.Object({
      available: Type.Boolean({ description: 'Whether the latest configuration of the flags could be read' }),
      agentUrl: Type.String({ description: 'Origin of the flag agent, or in-process' }),
    }),
  }),
)
