/** Closes what was opened, last opened first, and goes on when one of them fails. */
export class Closers implements AsyncDisposable {
  readonly #stack: { name: string; close: () => unknown }[] = []
  #closing: Promise<void> | undefined

  /** Registers `close` under a name that error messages use. */
  add(name: string, close: () => unknown): void {
    this.#stack.push({ name, close })
  }

  /** Idempotent: a second call waits for the first. Rejects with every failure, after closing all. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll()
    return this.#closing
  }

  async #closeAll(): Promise<void> {
    const failures: unknown[] = []
    for (let item = this.#stack.pop(); item !== undefined; item = this.#stack.pop()) {
      try {
        await item.close()
      } catch (cause) {
        failures.push(new Error(`closing ${item.name} failed`, { cause }))
      }
    }
    if (failures.length > 0) throw new AggregateError(failures, 'shutdown was not clean')
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}

/**
 * Calls `run` every `everyMs` milliseconds, never twice at once. The returned function stops it and
 * waits for a run under way. A failing run goes to `onError` and does not stop the loop.
 */
export function every(
  everyMs: number,
  run: () => Promise<void>,
  onError: (error: unknown) => void,
): () => Promise<void> {
  let stopped = false
  let current: Promise<void> = Promise.resolve()
  let timer: NodeJS.Timeout
  const tick = (): void => {
    current = run()
      .catch(onError)
      .finally(() => {
        if (!stopped) timer = setTimeout(tick, everyMs)
      })
  }
  timer = setTimeout(tick, everyMs)
  return async () => {
    stopped = true
    clearTimeout(timer)
    await current
  }
}
