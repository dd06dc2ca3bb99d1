import { FairSemaphore } from '@atrium/kernel/fair-semaphore'

interface Place {
  /** Has begun; whoever asks now wants it done once more. */
  running: Promise<void> | undefined
  waiting: Promise<void> | undefined
}

const MOST_WAITING = 1000

/** Whether so much of a space waits that what is more is left to the sweep of runs. */
export const isFull = (slots: FairSemaphore, spaceId: string): boolean =>
  slots.waitingOf(spaceId) >= MOST_WAITING

/**
 * Does one thing with runs, a few at once; spaces take turns. It is never done twice at the same moment for a run, and
 * whoever asks for it waits for one that begins after that.
 */
export class RunLane {
  readonly #slots: FairSemaphore
  readonly #work: (spaceId: string, runId: string) => Promise<void>
  readonly #places = new Map<string, Place>()

  constructor(atOnce: number, work: (spaceId: string, runId: string) => Promise<void>) {
    this.#slots = new FairSemaphore(atOnce)
    this.#work = work
  }

  /** Whether a space has so much waiting that no more should be asked for without need. */
  isFull(spaceId: string): boolean {
    return isFull(this.#slots, spaceId)
  }

  /** @throws what the work throws */
  ask(spaceId: string, runId: string): Promise<void> {
    const key = `${spaceId}/${runId}`
    const place = this.#places.get(key) ?? { running: undefined, waiting: undefined }
    this.#places.set(key, place)
    place.waiting ??= this.#do(key, place, spaceId, runId)
    return place.waiting
  }

  async #do(key: string, place: Place, spaceId: string, runId: string): Promise<void> {
    await place.running?.catch(() => {})
    await this.#slots.run(spaceId, async () => {
      place.running = place.waiting
      place.waiting = undefined
      try {
        await this.#work(spaceId, runId)
      } finally {
        place.running = undefined
        if (place.waiting === undefined) this.#places.delete(key)
      }
    })
  }

  /** Everything that was asked for and is not done yet. */
  get underWay(): Promise<void>[] {
    return [...this.#places.values()].flatMap(({ running, waiting }) =>
      [running, waiting].filter((done) => done !== undefined),
    )
  }
}
