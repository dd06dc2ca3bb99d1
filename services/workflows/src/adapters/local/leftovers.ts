import type { LocalRunKey } from '../../queries/local-runs.ts'
import type { Folders } from './folders.ts'

/** Folders that are looked at in one step. */
const STEP = 200

/**
 * Removes folders of runs that nothing needs any more: those whose process was killed between the end of the run and
 * the removal. Goes round all folders in small steps.
 */
export class Leftovers {
  readonly #folders: Folders
  readonly #areNeeded: (runs: readonly LocalRunKey[]) => Promise<readonly LocalRunKey[]>
  #round: AsyncGenerator<LocalRunKey> | undefined

  /** @param areNeeded which of these runs, at most 200, still need their folder */
  constructor(
    folders: Folders,
    areNeeded: (runs: readonly LocalRunKey[]) => Promise<readonly LocalRunKey[]>,
  ) {
    this.#folders = folders
    this.#areNeeded = areNeeded
  }

  /** Takes the next step. */
  async sweep(): Promise<void> {
    const found = await this.#next()
    if (found.length === 0) return
    const needed = new Set((await this.#areNeeded(found)).map(({ runId }) => runId))
    const gone = found.filter(({ runId }) => !needed.has(runId))
    const errors: unknown[] = []
    for (const run of gone) {
      await this.#folders.removeRun(run).catch((error: unknown) => void errors.push(error))
    }
    if (errors.length > 0) throw new AggregateError(errors, `${errors.length} folders of runs stay`)
  }

  async close(): Promise<void> {
    await this.#round?.return(undefined)
  }

  async #next(): Promise<LocalRunKey[]> {
    this.#round ??= this.#folders.runs()
    const found: LocalRunKey[] = []
    while (found.length < STEP) {
      const { done, value } = await this.#round.next()
      if (done === true) {
        this.#round = undefined
        break
      }
      found.push(value)
    }
    return found
  }
}
