import path from 'node:path'
import type { EnvValues } from '@atrium/kernel/config'
import { OperatorError } from '@atrium/kernel/errors'
import type { Logger } from '@atrium/kernel/log'
import type { flagEnv } from '../../config.ts'
import type { FlagProvider } from '../../domain/feature-flags.ts'
import { AgentFlagProvider } from './agent-provider.ts'
import { appConfigAgent } from './appconfig-agent.ts'
import { readBuiltinFlags } from './flagd-definition.ts'
import { BuiltinFlagProvider, FlagdFileProvider } from './flagd-file.ts'
import { ofrepAgent } from './ofrep-agent.ts'

const SOURCES = ['ATRIUM_FLAGS_FILE', 'ATRIUM_FLAGS_APPCONFIG_URL', 'ATRIUM_FLAGS_FLAGD_URL'] as const

function required(env: EnvValues<typeof flagEnv>, name: keyof typeof flagEnv): string {
  const value = env[name]
  if (value === undefined) throw new OperatorError(`ATRIUM_FLAGS_APPCONFIG_URL needs ${name} too`)
  return value
}

/**
 * The source of feature flags that the environment names, or the flags that come with Atrium.
 * @throws OperatorError when it names two, or one by half
 */
export function createFlagProvider(env: EnvValues<typeof flagEnv>, log: Logger): FlagProvider {
  const named = SOURCES.filter((name) => env[name] !== undefined)
  if (named.length > 1) {
    throw new OperatorError(
      `Feature flags have one source, but ${named.join(' and ')} are set: unset all but one`,
    )
  }
  const builtin = readBuiltinFlags()
  if (env.ATRIUM_FLAGS_FILE !== undefined)
    return new FlagdFileProvider(path.resolve(env.ATRIUM_FLAGS_FILE), builtin, log)
  if (env.ATRIUM_FLAGS_FLAGD_URL !== undefined)
    return new AgentFlagProvider(ofrepAgent(env.ATRIUM_FLAGS_FLAGD_URL), builtin, log)
  if (env.ATRIUM_FLAGS_APPCONFIG_URL === undefined) return new BuiltinFlagProvider(builtin)
  const agent = appConfigAgent({
    url: env.ATRIUM_FLAGS_APPCONFIG_URL,
    application: required(env, 'ATRIUM_FLAGS_APPCONFIG_APPLICATION'),
    environment: required(env, 'ATRIUM_FLAGS_APPCONFIG_ENVIRONMENT'),
    profile: required(env, 'ATRIUM_FLAGS_APPCONFIG_PROFILE'),
  })
  return new AgentFlagProvider(agent, builtin, log)
}
