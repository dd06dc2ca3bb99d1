import { AppError } from '@atrium/kernel/errors'
import { release } from '@atrium/kernel/http'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import {
  type EncodedBatch,
  type EncodingFailure,
  type EncodingTask,
  encodeBatch,
  failureOf,
} from './encode-batch.ts'

/** What a thread answers: the rows, or why there are none. */
export type Encoded = { readonly batch: EncodedBatch } | { readonly failure: EncodingFailure }

/** Runs in a thread of the pool. The rows are handed over rather than copied. */
export function encodeInThread(task: EncodingTask): Encoded {
  try {
    const encoded: Encoded = { batch: encodeBatch(task) }
    release(task.body)
    return handedOver(encoded, encoded.batch.rows.buffer)
  } catch (error) {
    if (error instanceof AppError) return { failure: failureOf(error) }
    throw error
  }
}

/** An answer whose memory the pool moves to the thread that asked. */
function handedOver(encoded: Encoded, memory: ArrayBufferLike): Encoded {
  return move({
    get [transferableSymbol]() {
      return [memory]
    },
    get [valueSymbol]() {
      return encoded
    },
  }) as object as Encoded
}
