import { KeyedSemaphore } from '../semaphore.ts'
import { workUnderWay } from '../tenant-work.ts'

/** Takes a tenant's turn and gives it back. */
export type Turn = () => void

const FREE: Turn = () => {}

/**
 * Lets each tenant hold so many connections at once; its further requests wait for each other, and no other tenant
 * waits for them. A request that holds one already gets its next without waiting, or it would wait for itself.
 */
export class FairShare {
  readonly #semaphore: KeyedSemaphore

  constructor(most: number) {
    this.#semaphore = new KeyedSemaphore(most)
  }

  /** @returns at once for what no tenant asks for */
  take(): Turn | Promise<Turn> {
    const work = workUnderWay()
    if (work?.tenant === undefined) return FREE
    if (work.held > 0) {
      work.held += 1
      return () => {
        work.held -= 1
      }
    }
    const { tenant } = work
    return new Promise((resolve) => {
      void this.#semaphore.run(
        tenant,
        () =>
          new Promise<void>((free) => {
            work.held += 1
            resolve(() => {
              work.held -= 1
              free()
            })
          }),
      )
    })
  }
}
