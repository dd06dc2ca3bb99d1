/** What a program of a run holds while it runs. */
export interface Holding {
  /** Its first process. */
  readonly pid: number
  /** Folders outside of the run's own that it may write to. */
  readonly folders: readonly string[]
}

/** What programs that this process runs hold, by run. */
export class Holdings {
  readonly #runs = new Map<string, Set<Holding>>()

  /** @returns what takes it out again */
  add(runId: string, holding: Holding): () => void {
    const known = this.#runs.get(runId) ?? new Set()
    this.#runs.set(runId, known.add(holding))
    return () => {
      known.delete(holding)
      if (known.size === 0 && this.#runs.get(runId) === known) this.#runs.delete(runId)
    }
  }

  of(runId: string): readonly Holding[] {
    return [...(this.#runs.get(runId) ?? [])]
  }
}
