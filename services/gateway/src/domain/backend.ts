import type { ChatCompletionRequest } from '../contract/chat-completions.ts'
import type { EmbeddingsRequest } from '../contract/embeddings.ts'

/** Cancelled once, when the caller goes away. Lighter than an AbortSignal, which costs as much as the routing. */
export class Cancellation {
  #isCancelled = false
  /** Nobody waits for the answer, which is awaited for its usage alone. */
  isUnattended = false
  #listener: (() => void) | undefined

  get isCancelled(): boolean {
    return this.#isCancelled
  }

  /** One listener: whoever serves the call at the moment. Called at once when it is cancelled already. */
  onCancel(listener: () => void): void {
    if (this.#isCancelled) listener()
    else this.#listener = listener
  }

  cancel(): void {
    if (this.#isCancelled) return
    this.#isCancelled = true
    this.#listener?.()
  }
}

/** One request of a caller. */
export interface Call<Request> {
  /** The body as the caller sent it. */
  readonly raw: Buffer
  /** The same, parsed and checked. */
  readonly request: Request
  readonly cancellation: Cancellation
}

/** The same, to be served by one deployment. */
export interface DeployedCall<Request> extends Call<Request> {
  /** The model's public name, and the backend's name for it. */
  readonly publicModel: string
  readonly model: string
}

export type ChatCall = DeployedCall<ChatCompletionRequest>

export interface EmbeddingsCall extends DeployedCall<EmbeddingsRequest> {
  /** Length of the model's vectors where the catalogue says so. */
  readonly modelDimensions: number | undefined
}

/** Receives a stream. `fail` and `end` come at most once, and nothing after them. */
export interface StreamSink {
  data(chunk: Buffer): void
  end(): void
  fail(error: Error): void
}

/** Server-sent events on their way; nothing flows before `read`. */
export interface EventStream {
  read(sink: StreamSink): void
  pause(): void
  resume(): void
  /** Stops the backend too. No call of the sink follows. */
  cancel(): void
}

/** A complete answer; a status of 400 and above carries an error in OpenAI's shape. */
export interface WholeAnswer {
  readonly kind: 'whole'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

export interface StreamedAnswer {
  readonly kind: 'stream'
  readonly headers: Readonly<Record<string, string>>
  readonly stream: EventStream
}

export type BackendAnswer = WholeAnswer | StreamedAnswer

/** Something that serves models. An operation that it lacks is absent. */
export interface Backend {
  /** Shown as `x-atrium-backend`. */
  readonly name: string
  /** One line for the start log, without secrets. */
  readonly summary: string
  /** Not a real model: its usage is marked in the costs. */
  readonly isSandbox: boolean
  /** @throws AppError when no usable answer came */
  chatCompletions?(call: ChatCall): Promise<BackendAnswer>
  /** @throws AppError when no usable answer came */
  embeddings?(call: EmbeddingsCall): Promise<BackendAnswer>
  close(): Promise<void>
}
