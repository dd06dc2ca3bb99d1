import type { Logger } from '@atrium/kernel/log'
import {
  type EvaluationContext,
  FlagNotFoundError,
  type ResolutionDetails,
  StandardResolutionReasons,
} from '@openfeature/server-sdk'
import { LRUCache } from 'lru-cache'
import type { FlagHealth } from '../../domain/feature-flags.ts'
import { AgentFailure } from './agent-request.ts'
import { BooleanProvider } from './boolean-provider.ts'
import type { FlagdDefinition } from './flagd-definition.ts'

/** A flag as an agent evaluated it. `isTargeted`: it may be another for another caller. */
export interface AgentFlag {
  readonly enabled: boolean
  readonly isPreview: boolean
  readonly isTargeted: boolean
}

export type AgentFlags = ReadonlyMap<string, AgentFlag>

export interface FlagAgent {
  readonly name: string
  /** Address of the agent; only its origin is shown. */
  readonly url: string
  /** All flags, evaluated for this context. @throws AgentFailure */
  fetchFlags(context: EvaluationContext): Promise<AgentFlags>
}

/** How old flags get before the agent is asked again. */
const FRESH_MS = 1000
/** How long an agent that failed is left alone. */
const RETRY_MS = 500
/** Bytes of flags to remember, over all callers. */
const REMEMBERED_BYTES = 32 * 1_048_576

interface Remembered {
  readonly flags: AgentFlags
  readonly at: number
}

/** The flags to go by, and whether they are all that the agent has for this caller. */
interface Known {
  readonly flags: AgentFlags
  readonly isWhole: boolean
}

const keyOf = (context: EvaluationContext): string =>
  JSON.stringify([context.kind, context.targetingKey, context.spaceId])

const HEALTH = { targetingKey: 'atrium-health', kind: 'health', id: 'atrium-health' }
const HEALTH_KEY = keyOf(HEALTH)

const sizeOf = (flags: AgentFlags): number =>
  [...flags.keys()].reduce((sum, name) => sum + name.length * 2 + 128, 256)

/**
 * Flags that an agent evaluates. While it cannot be reached, a caller keeps the flags that they last had; a caller
 * who had none gets those that are the same for everybody, and what was never heard of is as built in.
 */
export class AgentFlagProvider extends BooleanProvider {
  readonly #agent: FlagAgent
  readonly #builtin: FlagdDefinition
  readonly #log: Logger
  readonly #remembered = new LRUCache<string, Remembered>({
    maxSize: REMEMBERED_BYTES,
    sizeCalculation: ({ flags }, key) => sizeOf(flags) + key.length * 2,
  })
  readonly #asking = new Map<string, Promise<AgentFlags | undefined>>()
  /** The flags that are the same for everybody. */
  #common: AgentFlags = new Map()
  #failedAt = Number.NEGATIVE_INFINITY
  #state: 'well' | 'refuses' | 'fails' = 'well'

  constructor(agent: FlagAgent, builtin: FlagdDefinition, log: Logger) {
    super(agent.name)
    this.#agent = agent
    this.#builtin = builtin
    this.#log = log
  }

  async flagNames(context: EvaluationContext): Promise<readonly string[]> {
    const { flags, isWhole } = await this.#flagsFor(context)
    return [...flags.keys(), ...(isWhole ? [] : this.#builtin.names)]
  }

  async resolveBooleanEvaluation(
    name: string,
    fallback: boolean,
    context: EvaluationContext,
  ): Promise<ResolutionDetails<boolean>> {
    const { flags, isWhole } = await this.#flagsFor(context)
    const flag = flags.get(name)
    if (flag === undefined) {
      if (!isWhole) return this.#builtin.evaluate(name, fallback, context)
      throw new FlagNotFoundError(`the agent has no flag ${name}`)
    }
    const reason =
      this.#state !== 'well'
        ? StandardResolutionReasons.STALE
        : flag.isTargeted
          ? StandardResolutionReasons.TARGETING_MATCH
          : StandardResolutionReasons.STATIC
    return { value: flag.enabled, reason, flagMetadata: { isPreview: flag.isPreview } }
  }

  /** Asks the agent as a caller would, and no more often. */
  async health(): Promise<FlagHealth> {
    await this.#flagsFor(HEALTH)
    await this.#asking.get(HEALTH_KEY)
    return {
      sidecarHealthy: this.#state !== 'fails',
      available: this.#state === 'well',
      agentUrl: new URL(this.#agent.url).origin,
    }
  }

  async #flagsFor(context: EvaluationContext): Promise<Known> {
    const key = keyOf(context)
    const remembered = this.#remembered.get(key)
    const now = performance.now()
    if (remembered !== undefined && now - remembered.at < FRESH_MS) return { ...remembered, isWhole: true }
    const lastGood: Known =
      remembered === undefined ? { flags: this.#common, isWhole: false } : { ...remembered, isWhole: true }
    const isWell = this.#state === 'well'
    // An agent that failed is asked again twice a second, by one caller for all, and nobody waits for it.
    if (!isWell && (now - this.#failedAt < RETRY_MS || this.#asking.size > 0)) return lastGood
    const asking = this.#asking.get(key) ?? this.#ask(key, context)
    if (!isWell) return lastGood
    const flags = await asking
    return flags === undefined ? lastGood : { flags, isWhole: true }
  }

  #ask(key: string, context: EvaluationContext): Promise<AgentFlags | undefined> {
    const asking = this.#fetch(key, context).finally(() => this.#asking.delete(key))
    this.#asking.set(key, asking)
    return asking
  }

  /** undefined: the agent could not be asked. */
  async #fetch(key: string, context: EvaluationContext): Promise<AgentFlags | undefined> {
    try {
      const flags = await this.#agent.fetchFlags(context)
      this.#remembered.set(key, { flags, at: performance.now() })
      this.#common = new Map([...flags].filter(([, { isTargeted }]) => !isTargeted))
      this.#enter('well')
      return flags
    } catch (error) {
      this.#failedAt = performance.now()
      this.#enter(error instanceof AgentFailure && error.isRefusal ? 'refuses' : 'fails', error)
      return undefined
    }
  }

  /** One line in the log when the agent's state changes, not one for each request. */
  #enter(state: 'well' | 'refuses' | 'fails', error?: unknown): void {
    if (state === this.#state) return
    this.#state = state
    const agent = new URL(this.#agent.url).origin
    if (state === 'well') this.#log.info({ agent }, 'feature flags come from their agent again')
    else this.#log.warn({ err: error, agent }, 'feature flags cannot be read; last good values are served')
  }
}
