import { StandardResolutionReasons } from '@openfeature/server-sdk'
import type { AgentFlag, FlagAgent } from './agent-provider.ts'
import { AgentFailure, askAgent, isObject } from './agent-request.ts'

/** Reasons by which a value holds for everybody. */
const COMMON: readonly unknown[] = [StandardResolutionReasons.STATIC, StandardResolutionReasons.DISABLED]

/** Nothing for flags of other types and for those that could not be evaluated. */
function readFlag(flag: unknown): (readonly [string, AgentFlag])[] {
  if (!isObject(flag) || typeof flag.key !== 'string')
    throw new AgentFailure('the agent answered a flag without a key')
  if (typeof flag.value !== 'boolean') return []
  const metadata = isObject(flag.metadata) ? flag.metadata : {}
  return [
    [
      flag.key,
      {
        enabled: flag.value && flag.reason !== StandardResolutionReasons.DISABLED,
        isPreview: metadata.isPreview === true,
        isTargeted: !COMMON.includes(flag.reason),
      },
    ],
  ]
}

/** flagd, or any other server of the OpenFeature Remote Evaluation Protocol, by bulk evaluation. */
export function ofrepAgent(url: string): FlagAgent {
  const address = `${url.replace(/\/+$/, '')}/ofrep/v1/evaluate/flags`
  return {
    name: 'atrium-ofrep',
    url,
    fetchFlags: async (context) => {
      const body = await askAgent(address, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify({ context }),
      })
      if (!isObject(body) || !Array.isArray(body.flags))
        throw new AgentFailure('the agent answered no list of flags')
      return new Map(body.flags.flatMap(readFlag))
    },
  }
}
