import { workUnderWay } from '@atrium/kernel/tenant-work'
import { Turns } from '@atrium/kernel/turns'
import type { EventStream, StreamSink } from '../../domain/backend.ts'

/** Events in a round of the event loop, of all streams together. */
const EVENTS_A_ROUND = 8
const turns = new Turns(EVENTS_A_ROUND)

/**
 * Events made one a turn of the event loop, so that they arrive as a stream and nobody is held up; tenants take turns,
 * however many streams they have.
 */
export class SandboxStream implements EventStream {
  readonly #events: Iterator<string>
  readonly #tenant = workUnderWay()?.tenant ?? ''
  #sink: StreamSink | undefined
  #isPaused = false
  #isScheduled = false

  constructor(events: Iterable<string>) {
    this.#events = events[Symbol.iterator]()
  }

  read(sink: StreamSink): void {
    this.#sink = sink
    this.#schedule()
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#schedule()
  }

  cancel(): void {
    this.#sink = undefined
  }

  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      const turn = turns.take(this.#tenant)
      if (turn === undefined) this.#send()
      else void turn.then(() => this.#send())
    })
  }

  #send(): void {
    this.#isScheduled = false
    if (this.#isPaused || this.#sink === undefined) return
    const event = this.#events.next()
    if (event.done === true) {
      this.#sink.end()
      return
    }
    this.#sink.data(Buffer.from(event.value))
    this.#schedule()
  }
}
