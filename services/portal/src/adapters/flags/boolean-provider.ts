import { type EvaluationContext, type ResolutionDetails, TypeMismatchError } from '@openfeature/server-sdk'
import type { FlagHealth, FlagProvider } from '../../domain/feature-flags.ts'

const refuse = (): Promise<never> => Promise.reject(new TypeMismatchError('Atrium has boolean flags only'))

/** Atrium's flags are on or off; asking for another type is a mistake of the caller. */
export abstract class BooleanProvider implements FlagProvider {
  readonly runsOn = 'server'
  readonly metadata: { readonly name: string }

  constructor(name: string) {
    this.metadata = { name }
  }

  abstract flagNames(context: EvaluationContext): Promise<readonly string[]>
  abstract health(): Promise<FlagHealth>
  abstract resolveBooleanEvaluation(
    name: string,
    fallback: boolean,
    context: EvaluationContext,
  ): Promise<ResolutionDetails<boolean>>

  resolveStringEvaluation = refuse
  resolveNumberEvaluation = refuse
  resolveObjectEvaluation = refuse
}
