import type { CompletionUsage } from 'openai/resources/completions'

/** How the fake answers one request; the test says so, never the content of the request. */
export interface FakeBehaviour {
  /** Wait before the first byte, in milliseconds. */
  readonly delayMs?: number
  /** The text in pieces, one a chunk. */
  readonly pieces?: readonly string[]
  /** Wait between two chunks, in milliseconds; without it they come at once. */
  readonly intervalMs?: number
  /** What all chunks but the first wait for. */
  readonly held?: Promise<void>
  /** False: the answer says nothing about usage. */
  readonly usage?: CompletionUsage | false
  readonly lineEnd?: '\n' | '\r\n' | '\r'
  /** Writes the stream in parts of this many bytes, which cut through events and characters. */
  readonly writeBytes?: number
  /** Breaks the connection after so many chunks of the stream (0: after the headers). */
  readonly cutAfter?: number
  /** Ends the stream after so many chunks as if that were all. */
  readonly endAfter?: number
  /** An error status, with `retryAfter` in seconds and a body of its own if given. */
  readonly status?: number
  readonly retryAfter?: number
  readonly body?: string | Buffer
  readonly contentType?: string
  /** Of a body of its own: the coding that it is said to be in. */
  readonly contentEncoding?: string
  /** The events of the stream as bytes of the test's own, instead of `pieces`. */
  readonly events?: string
  /** Reads the request and never answers. */
  readonly hang?: boolean
  /** Breaks the connection before any answer. */
  readonly reset?: boolean
}
