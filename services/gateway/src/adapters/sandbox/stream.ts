import type { EventStream, StreamSink } from '../../domain/backend.ts'

/** Events made one a turn of the event loop, so that they arrive as a stream and nobody is held up. */
export class SandboxStream implements EventStream {
  readonly #events: Iterator<string>
  #sink: StreamSink | undefined
  #isPaused = false
  #next: NodeJS.Immediate | undefined

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
    this.#next ??= setImmediate(() => {
      this.#next = undefined
      if (this.#isPaused || this.#sink === undefined) return
      const event = this.#events.next()
      if (event.done === true) {
        this.#sink.end()
        return
      }
      this.#sink.data(Buffer.from(event.value))
      this.#schedule()
    })
  }
}
