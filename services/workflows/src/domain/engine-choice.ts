import type { EnvValues } from '@atrium/kernel/config'
import { OperatorError } from '@atrium/kernel/errors'
import type { workflowsEnv } from '../config.ts'

/** @param chosen ATRIUM_ENGINE @throws OperatorError for one that is not built yet */
export function demandBuiltEngine(chosen: string | undefined): void {
  if (chosen === 'argo') {
    throw new OperatorError(
      'ATRIUM_ENGINE=argo: the Argo Workflows engine is not built yet; there is `local`.',
    )
  }
}

/**
 * The engine that runs tasks; undefined where nobody may choose for the operator. The local engine runs tenants' code
 * on this machine, so in production it must be asked for in so many words.
 * @param chosen ATRIUM_ENGINE
 */
export const engineFor = (chosen: string | undefined, nodeEnv: string): 'local' | undefined =>
  chosen === 'local' || nodeEnv !== 'production' ? 'local' : undefined

/** Whether a process with background jobs runs tasks as processes of its own machine. */
export const runsTasksHere = (env: EnvValues<typeof workflowsEnv>, nodeEnv: string): boolean =>
  engineFor(env.ATRIUM_ENGINE, nodeEnv) === 'local' && env.ATRIUM_WORKFLOWS_TASKS !== 0
