import { readFileSync } from 'node:fs'
import { FlagdCore, MemoryStorage } from '@openfeature/flagd-core'
import {
  type EvaluationContext,
  type ResolutionDetails,
  StandardResolutionReasons,
} from '@openfeature/server-sdk'

const nothing = (): void => {}
/** The library reports to its logger what it also throws or returns. */
const silent = { error: nothing, warn: nothing, info: nothing, debug: nothing }
/** Rules are interpreted: a file of flags never becomes code. */
const options = { disableDynamicCodeGeneration: true }

/** Flags in flagd's JSON, ready to be evaluated. Strings and numbers among them are left out. */
export class FlagdDefinition {
  readonly #core: FlagdCore
  readonly names: readonly string[]

  /** @throws Error that says what is wrong when `text` does not fit flagd's schema */
  constructor(text: string) {
    const storage = new MemoryStorage(silent, options)
    storage.setConfigurations(text, true)
    this.#core = new FlagdCore(storage, silent, options)
    this.names = [...storage.getFlags()]
      .filter(([, flag]) => [...flag.variants.values()].every((value) => typeof value === 'boolean'))
      .map(([name]) => name)
  }

  /** A flag in the state DISABLED is off: its file says so, and that is what its reader expects. */
  evaluate(name: string, fallback: boolean, context: EvaluationContext): ResolutionDetails<boolean> {
    const details = this.#core.resolveBooleanEvaluation(name, fallback, context)
    return details.reason === StandardResolutionReasons.DISABLED ? { ...details, value: false } : details
  }
}

/** What holds where nothing else is configured, and while a configured source has never answered. */
export const readBuiltinFlags = (): FlagdDefinition =>
  new FlagdDefinition(readFileSync(new URL('./builtin-flags.json', import.meta.url), 'utf8'))
