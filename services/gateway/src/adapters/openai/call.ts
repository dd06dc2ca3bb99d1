import type { IncomingHttpHeaders } from 'node:http'
import type { AppError } from '@atrium/kernel/errors'
import type { Dispatcher } from 'undici'
import type { BackendAnswer, Cancellation, EventStream, StreamSink } from '../../domain/backend.ts'
import { backendAnswerInvalid, backendTimeout, backendUnreachable, callerGone } from '../../errors.ts'
import { answerOf, passedHeaders } from './answer.ts'
import type { OpenAiConnection } from './connection.ts'

const TIMEOUTS = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT'])

export interface CallLimits {
  /** Of a whole answer. */
  readonly maxBytes: number
  /** What a refusal of an option speaks of that the platform added. */
  readonly option?: RegExp
}

/** The server does not take the option that `CallLimits.option` stands for. */
export class OptionRefused extends Error {}

/** Where in an error's body the option is looked for. */
const MOST_OF_A_REFUSAL = 65_536

const EVENT_STREAM = /^text\/event-stream/i
const BROKEN = new Set(['ECONNRESET', 'EPIPE'])
/** What breaks later was begun by the server, whose work is not asked for twice. */
const STALE_WITHIN_MS = 1000

/** Whether the connection had served before and was closed by the server, perhaps before it got the request. */
function isStale(error: Error): boolean {
  const { code, socket } = error as { code?: string; socket?: { bytesRead?: number } }
  if (code === 'UND_ERR_SOCKET') return (socket?.bytesRead ?? 0) > 0
  return code !== undefined && BROKEN.has(code)
}

type Phase = 'waiting' | 'whole' | 'stream' | 'over'

/**
 * One request to the server, straight on undici's dispatch: no stream objects in between, the caller's
 * pace is the backend's pace.
 */
export class BackendCall implements Dispatcher.DispatchHandler, EventStream {
  readonly #connection: OpenAiConnection
  readonly #limits: CallLimits
  readonly #resolve: (answer: BackendAnswer) => void
  readonly #reject: (error: unknown) => void
  readonly #deadline: NodeJS.Timeout
  readonly #repeat: (handler: BackendCall) => void
  #controller: Dispatcher.DispatchController | undefined
  #startedAtMs = 0
  #isRepeated = false
  #phase: Phase = 'waiting'
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #chunks: Buffer[] = []
  #bytes = 0
  #sink: StreamSink | undefined
  #failure: AppError | undefined
  #abortedFor: AppError | undefined

  constructor(
    connection: OpenAiConnection,
    limits: CallLimits & { cancellation: Cancellation; repeat: (handler: BackendCall) => void },
    resolve: (answer: BackendAnswer) => void,
    reject: (error: unknown) => void,
  ) {
    this.#connection = connection
    this.#limits = limits
    this.#repeat = limits.repeat
    this.#resolve = resolve
    this.#reject = reject
    this.#deadline = setTimeout(this.#onDeadline, connection.totalTimeoutMs)
    limits.cancellation.onCancel(this.#onCancel)
  }

  // Every answer that ends well closes too: an error is made only when the call is still on.
  readonly #onCancel = (): void => {
    if (this.#phase !== 'over') this.#abort(callerGone())
  }

  readonly #onDeadline = (): void => this.#abort(backendTimeout(this.#connection.name))

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    this.#startedAtMs = performance.now()
    if (this.#abortedFor !== undefined) controller.abort(this.#abortedFor)
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: IncomingHttpHeaders,
  ): void {
    this.#status = status
    this.#headers = headers
    const encoding = headers['content-encoding']
    if (status < 300 && encoding !== undefined && encoding !== 'identity') {
      this.#abort(backendAnswerInvalid(this.#connection.name, `is compressed (${encoding}), unasked`))
    } else if (status === 200 && EVENT_STREAM.test(headers['content-type'] ?? '')) {
      this.#phase = 'stream'
      controller.pause()
      this.#resolve({ kind: 'stream', headers: passedHeaders(headers), stream: this })
    } else this.#phase = 'whole'
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#phase === 'stream') {
      this.#sink?.data(chunk)
      return
    }
    this.#bytes += chunk.length
    if (this.#bytes > this.#limits.maxBytes) {
      this.#abort(backendAnswerInvalid(this.#connection.name, 'is too large'))
      return
    }
    this.#chunks.push(chunk)
  }

  onResponseEnd(): void {
    const phase = this.#finish()
    if (phase === 'stream') this.#sink?.end()
    if (phase !== 'whole') return
    const [only, ...more] = this.#chunks
    const body = only !== undefined && more.length === 0 ? only : Buffer.concat(this.#chunks, this.#bytes)
    if (this.#isOptionRefused(body)) {
      this.#reject(new OptionRefused())
      return
    }
    try {
      this.#resolve(answerOf(this.#connection, this.#status, this.#headers, body))
    } catch (error) {
      this.#reject(error)
    }
  }

  #isOptionRefused(body: Buffer): boolean {
    const { option } = this.#limits
    if (option === undefined || (this.#status !== 400 && this.#status !== 422)) return false
    return option.test(body.toString('latin1', 0, MOST_OF_A_REFUSAL))
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (this.#canRepeat(error)) {
      this.#isRepeated = true
      this.#controller = undefined
      this.#repeat(this)
      return
    }
    const failure = this.#abortedFor ?? this.#failureOf(error)
    const phase = this.#finish()
    if (phase === 'over') return
    if (phase !== 'stream') this.#reject(failure)
    else if (this.#sink === undefined) this.#failure = failure
    else this.#sink.fail(failure)
  }

  /** Servers close connections that were idle for long just as a request is on its way. */
  #canRepeat(error: Error): boolean {
    return (
      this.#phase === 'waiting' &&
      !this.#isRepeated &&
      this.#abortedFor === undefined &&
      isStale(error) &&
      performance.now() - this.#startedAtMs < STALE_WITHIN_MS
    )
  }

  read(sink: StreamSink): void {
    this.#sink = sink
    if (this.#failure !== undefined) sink.fail(this.#failure)
    else this.#controller?.resume()
  }

  pause(): void {
    this.#controller?.pause()
  }

  resume(): void {
    this.#controller?.resume()
  }

  cancel(): void {
    this.#finish()
    this.#controller?.abort(callerGone())
  }

  #finish(): Phase {
    const phase = this.#phase
    this.#phase = 'over'
    clearTimeout(this.#deadline)
    return phase
  }

  #abort(reason: AppError): void {
    if (this.#phase === 'over') return
    this.#abortedFor = reason
    // Before a connection is free there is nothing to abort: the answer is final all the same.
    if (this.#controller === undefined) {
      this.#finish()
      this.#reject(reason)
    } else this.#controller.abort(reason)
  }

  #failureOf(error: Error): AppError {
    const { code } = error as { code?: string }
    return code !== undefined && TIMEOUTS.has(code)
      ? backendTimeout(this.#connection.name, error)
      : backendUnreachable(this.#connection.name, error)
  }
}
