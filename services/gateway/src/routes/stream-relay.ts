import type { ServerResponse } from 'node:http'
import { AppError } from '@atrium/kernel/errors'
import { onCutOff } from '@atrium/kernel/http'
import type { EventStream, StreamSink } from '../domain/backend.ts'
import type { Charge } from '../domain/charge.ts'
import { EventScanner, MAX_EVENT_BYTES } from '../domain/event-scanner.ts'
import { backendAnswerInvalid, backendReportsError, formatError, serverStopping } from '../errors.ts'
import { ChunkedAnswer } from './chunked-answer.ts'

const NOTHING = Buffer.alloc(0)

export interface RelayOptions {
  readonly response: ServerResponse
  readonly stream: EventStream
  readonly charge: Charge
  /** The caller did not ask for the usage: it is read and taken out. */
  readonly hidesUsage: boolean
  readonly requestId: string
  readonly backend: string
  readonly onFirstChunk: () => void
  readonly onFailure: (error: AppError) => void
}

/**
 * Passes a backend's events to the caller byte for byte, less usage that the caller did not ask for, at the caller's
 * pace. The event that ends the
 * answer is held back until the call is charged.
 */
export class StreamRelay implements StreamSink {
  readonly #options: RelayOptions
  readonly #answer: ChunkedAnswer
  readonly #scanner: EventScanner
  #hasBegun = false
  #isSettled = false
  /** Under way when the backend said nothing about usage. */
  #counting: Promise<void> | undefined
  /** The caller's buffer is full, or the charge is being counted: nothing flows. */
  #isWaiting = false
  #isOver = false
  readonly #charged = Promise.withResolvers<void>()

  constructor(options: RelayOptions) {
    this.#options = options
    this.#scanner = new EventScanner((text) => options.charge.addText(text), options.hidesUsage)
    this.#answer = new ChunkedAnswer(options.response, () => this.#resume())
    options.response.on('close', () => this.#onClose())
    onCutOff(options.response, () => this.#onCutOff())
    options.stream.read(this)
  }

  /** Resolves when the call is charged, which is before the caller sees its end. */
  get charged(): Promise<void> {
    return this.#charged.promise
  }

  data(chunk: Buffer): void {
    const hadError = this.#scanner.hasError
    const events = this.#scanner.push(chunk)
    if (this.#scanner.hasError && !hadError)
      this.#options.onFailure(backendReportsError(this.#options.backend))
    if (this.#scanner.isTooLong && !this.#isOver) {
      this.#options.stream.cancel()
      this.fail(
        backendAnswerInvalid(this.#options.backend, `has an event of more than ${MAX_EVENT_BYTES} bytes`),
      )
      return
    }
    if (events.length === 0 || this.#isOver) return
    if (!this.#hasBegun) {
      this.#hasBegun = true
      this.#options.onFirstChunk()
    }
    if (!this.#scanner.isDone || this.#isSettled) {
      this.#write(events)
      return
    }
    if (this.#scanner.usage !== undefined) {
      this.#settle()
      this.#write(events)
      return
    }
    this.#pause()
    void this.#settleByCount().then(() => {
      this.#counting = undefined
      this.#write(events)
      this.#resume()
    })
  }

  end(): void {
    const rest = this.#scanner.rest()
    if (!this.#scanner.isFinished && !this.#scanner.hasError) {
      const { backend } = this.#options
      this.fail(
        new AppError(
          502,
          'backend_stream_broken',
          `The backend ${backend} ended its answer before it was complete`,
        ),
      )
      return
    }
    this.#finish(rest)
  }

  fail(error: Error): void {
    // The caller has been told by the backend itself.
    if (this.#scanner.hasError) {
      this.#finish(NOTHING)
      return
    }
    const failure =
      error instanceof AppError
        ? error
        : new AppError(502, 'backend_stream_broken', 'The answer broke off', { cause: error })
    this.#options.onFailure(failure)
    this.#finishWith(failure)
  }

  #finishWith({ status, code, message, field }: AppError): void {
    const body = formatError({ status, code, message, field, requestId: this.#options.requestId })
    this.#finish(Buffer.from(`data: ${JSON.stringify(body)}\n\n`))
  }

  #finish(last: Buffer): void {
    const finish = (): void => {
      if (this.#isOver) return
      this.#isOver = true
      this.#answer.end(last)
    }
    if (this.#counting !== undefined) void this.#counting.then(finish)
    else if (this.#isSettled) finish()
    else if (this.#scanner.usage !== undefined) {
      this.#settle()
      finish()
    } else void this.#settleByCount().then(finish)
  }

  #settle(): void {
    this.#isSettled = true
    if (this.#scanner.usage !== undefined) this.#options.charge.settle(this.#scanner.usage)
    this.#charged.resolve()
  }

  #settleByCount(): Promise<void> {
    if (this.#isSettled) return this.#counting ?? Promise.resolve()
    this.#isSettled = true
    const { charge } = this.#options
    this.#counting = charge.estimate().then((usage) => charge.settle(usage))
    this.#counting.then(this.#charged.resolve, this.#charged.reject)
    return this.#counting
  }

  #write(events: Buffer): void {
    if (!this.#isOver && !this.#answer.write(events)) this.#pause()
  }

  #pause(): void {
    if (this.#isWaiting) return
    this.#isWaiting = true
    this.#options.stream.pause()
  }

  #resume(): void {
    if (!this.#isWaiting || this.#isOver || this.#counting !== undefined) return
    this.#isWaiting = false
    this.#options.stream.resume()
  }

  /** The process stops: the backend does too, the caller is told, and what came until now is charged. */
  #onCutOff(): void {
    if (this.#isOver) return
    this.#options.stream.cancel()
    // All of the answer has come, and is only being counted.
    if (this.#scanner.isDone) this.#finish(NOTHING)
    else this.#finishWith(serverStopping())
  }

  /** The caller hung up: the backend stops, and what it produced until now is charged. */
  #onClose(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#options.stream.cancel()
    if (this.#scanner.usage !== undefined && !this.#isSettled) this.#settle()
    else void this.#settleByCount()
  }
}
