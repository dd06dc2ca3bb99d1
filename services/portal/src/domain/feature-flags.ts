import { randomUUID } from 'node:crypto'
import type { Principal } from '@atrium/access'
import { type EvaluationContext, NOOP_PROVIDER, OpenFeature, type Provider } from '@openfeature/server-sdk'

export interface FeatureFlag {
  readonly enabled: boolean
  readonly isPreview: boolean
}

/** How the source of the flags is; safe to show to everybody. */
export interface FlagHealth {
  /** Whether the agent answers; in process there is none, so nothing can fail. */
  readonly sidecarHealthy: boolean
  /** Whether its latest configuration could be read. */
  readonly available: boolean
  readonly agentUrl: string
}

/** An OpenFeature provider that also knows which flags it has, and how it is. None of these reject. */
export interface FlagProvider extends Provider {
  flagNames(context: EvaluationContext): Promise<readonly string[]>
  health(): Promise<FlagHealth>
}

export interface FeatureFlags {
  /** Every flag as it is for this caller. Never rejects because of the source. */
  evaluate(caller: Principal): Promise<Record<string, FeatureFlag>>
  health(): Promise<FlagHealth>
  close(): Promise<void>
}

/** Flags that every answer has; a source that does not know one of them switches it off. */
export const KNOWN_FLAGS = ['enable_agent_feature', 'enable_cost_feature', 'enable_workflow_feature'] as const

/** What targeting rules can ask about a caller. */
export function evaluationContextOf(caller: Principal): EvaluationContext & { targetingKey: string } {
  switch (caller.kind) {
    case 'user':
      return { targetingKey: caller.qxId, kind: 'user', id: caller.qxId, qxId: caller.qxId }
    case 'client':
      return { targetingKey: caller.clientId, kind: 'client', id: caller.clientId }
    case 'key':
      return { targetingKey: caller.keyId, kind: 'key', id: caller.keyId, spaceId: caller.spaceId }
  }
}

/** Feature flags of one portal. OpenFeature's registry is global, so each portal has a domain of its own in it. */
export async function createFeatureFlags(provider: FlagProvider): Promise<FeatureFlags> {
  const domain = `atrium-portal-${randomUUID()}`
  await OpenFeature.setProviderAndWait(domain, provider)
  const client = OpenFeature.getClient(domain)

  return {
    async evaluate(caller) {
      const context = evaluationContextOf(caller)
      const names = new Set<string>([...KNOWN_FLAGS, ...(await provider.flagNames(context))])
      const flags = await Promise.all(
        [...names].sort().map(async (name) => {
          const { value, flagMetadata } = await client.getBooleanDetails(name, false, context)
          return [name, { enabled: value, isPreview: flagMetadata.isPreview === true }] as const
        }),
      )
      return Object.fromEntries(flags)
    },
    health: () => provider.health(),
    // The registry keeps domains for ever, so what it keeps must be small.
    close: () => OpenFeature.setProviderAndWait(domain, NOOP_PROVIDER),
  }
}
