import { SlotSet } from '@atrium/kernel/slot-set'

import type { Cancellation } from './backend.ts'

/** The calls that are not charged yet: the recorder stays open for them. */
export class OpenCalls {
  readonly #open = new SlotSet<Promise<unknown>>()
  readonly #unattended = new SlotSet<Cancellation>()

  /** @returns the same promise */
  add<T>(call: Promise<T>): Promise<T> {
    const slot = this.#open.add(call)
    const remove = (): void => this.#open.delete(slot)
    call.then(remove, remove)
    return call
  }

  /** The caller is gone: the call goes on, so that it is known what it costs, until the gateway closes. */
  leaveAlone(cancellation: Cancellation): () => void {
    cancellation.isUnattended = true
    const slot = this.#unattended.add(cancellation)
    return () => this.#unattended.delete(slot)
  }

  /** Cuts off the calls that nobody waits for. */
  cutOffUnattended(): void {
    for (const cancellation of this.#unattended.values()) cancellation.cancel()
  }

  /** Resolves when none is open. */
  async ended(): Promise<void> {
    while (this.#open.size > 0) await Promise.allSettled(this.#open.values())
  }
}
