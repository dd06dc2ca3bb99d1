import type { EvaluationContext } from '@openfeature/server-sdk'
import type { AgentFlag, FlagAgent } from './agent-provider.ts'
import { AgentFailure, askAgent, isObject } from './agent-request.ts'

/** What the agent's `Context` header can carry; a comma or an equals sign would name another attribute. */
const PLAIN = /^[\w.:@/+-]{1,256}$/

const contextHeader = (context: EvaluationContext): string =>
  (['kind', 'id', 'qxId', 'spaceId'] as const)
    .flatMap((name) => {
      const value = context[name]
      return typeof value === 'string' && PLAIN.test(value) ? [`${name}=${value}`] : []
    })
    .join(',')

function readFlag(name: string, value: unknown): readonly [string, AgentFlag] {
  if (!isObject(value) || typeof value.enabled !== 'boolean') {
    throw new AgentFailure(
      `${JSON.stringify(name.slice(0, 64))} is not a feature flag: it has no boolean "enabled"`,
    )
  }
  const { enabled, isPreview } = value
  return [
    name,
    { enabled, isPreview: isPreview === true || isPreview === 'true', isTargeted: '_variant' in value },
  ]
}

/** Feature flags of an AWS AppConfig profile of the type `AWS.AppConfig.FeatureFlags`, through AWS's local agent. */
export function appConfigAgent(options: {
  readonly url: string
  readonly application: string
  readonly environment: string
  readonly profile: string
}): FlagAgent {
  const [application, environment, profile] = [options.application, options.environment, options.profile].map(
    encodeURIComponent,
  )
  const address = `${options.url.replace(/\/+$/, '')}/applications/${application}/environments/${environment}/configurations/${profile}`
  return {
    name: 'atrium-appconfig-agent',
    url: options.url,
    fetchFlags: async (context) => {
      const body = await askAgent(address, {
        headers: { accept: 'application/json', context: contextHeader(context) },
      })
      if (!isObject(body)) throw new AgentFailure('the profile is not an object of feature flags')
      return new Map(Object.entries(body).map(([name, value]) => readFlag(name, value)))
    },
  }
}
