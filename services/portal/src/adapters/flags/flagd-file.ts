import { open } from 'node:fs/promises'
import type { Logger } from '@atrium/kernel/log'
import type { EvaluationContext, ResolutionDetails } from '@openfeature/server-sdk'
import type { FlagHealth } from '../../domain/feature-flags.ts'
import { BooleanProvider } from './boolean-provider.ts'
import { FlagdDefinition } from './flagd-definition.ts'

const MAX_BYTES = 1_048_576
/** Looking at the file's stamp is cheap, but not free. */
const LOOK_EVERY_MS = 500

/**
 * Flags in flagd's JSON, evaluated in this process. The file is looked at when flags are asked for, and read again
 * when it changed, which also sees the swapped links of a mounted Kubernetes volume. A file that cannot be used
 * leaves the last good flags in force.
 */
export class FlagdFileProvider extends BooleanProvider {
  readonly #path: string
  readonly #log: Logger
  #definition: FlagdDefinition
  #stamp = ''
  #isGood = true
  #lookedAt = Number.NEGATIVE_INFINITY
  #looking: Promise<void> | undefined

  /** @param builtin in force until the file has been read */
  constructor(path: string, builtin: FlagdDefinition, log: Logger) {
    super('atrium-flagd-file')
    this.#path = path
    this.#definition = builtin
    this.#log = log
  }

  async flagNames(): Promise<readonly string[]> {
    await this.#refresh()
    return this.#definition.names
  }

  async resolveBooleanEvaluation(
    name: string,
    fallback: boolean,
    context: EvaluationContext,
  ): Promise<ResolutionDetails<boolean>> {
    await this.#refresh()
    return this.#definition.evaluate(name, fallback, context)
  }

  async health(): Promise<FlagHealth> {
    await this.#refresh()
    return { sidecarHealthy: true, available: this.#isGood, agentUrl: 'in-process' }
  }

  #refresh(): Promise<void> {
    if (performance.now() - this.#lookedAt < LOOK_EVERY_MS) return Promise.resolve()
    this.#looking ??= this.#look().finally(() => {
      this.#lookedAt = performance.now()
      this.#looking = undefined
    })
    return this.#looking
  }

  async #look(): Promise<void> {
    try {
      const text = await this.#readIfChanged()
      if (text === undefined) return
      this.#definition = new FlagdDefinition(text)
      if (!this.#isGood) this.#log.info({ file: this.#path }, 'the file of feature flags is good again')
      this.#isGood = true
    } catch (error) {
      if (this.#isGood)
        this.#log.warn({ err: error, file: this.#path }, 'the file of feature flags cannot be used')
      this.#isGood = false
    }
  }

  async #readIfChanged(): Promise<string | undefined> {
    await using file = await open(this.#path).catch((cause: unknown) => {
      this.#stamp = ''
      throw cause
    })
    const { mtimeNs, ctimeNs, ino, size } = await file.stat({ bigint: true })
    const stamp = `${mtimeNs} ${ctimeNs} ${ino} ${size}`
    if (stamp === this.#stamp) return undefined
    this.#stamp = stamp
    if (size > MAX_BYTES) throw new Error(`it has ${size} bytes, more than ${MAX_BYTES}`)
    return await file.readFile('utf8')
  }
}

/** The flags that come with Atrium. */
export class BuiltinFlagProvider extends BooleanProvider {
  readonly #definition: FlagdDefinition

  constructor(definition: FlagdDefinition) {
    super('atrium-builtin')
    this.#definition = definition
  }

  flagNames = async (): Promise<readonly string[]> => this.#definition.names

  resolveBooleanEvaluation = async (
    name: string,
    fallback: boolean,
    context: EvaluationContext,
  ): Promise<ResolutionDetails<boolean>> => this.#definition.evaluate(name, fallback, context)

  health = async (): Promise<FlagHealth> => ({
    sidecarHealthy: true,
    available: true,
    agentUrl: 'in-process',
  })
}
