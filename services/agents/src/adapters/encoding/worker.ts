import { AppError } from '@atrium/kernel/errors'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import {
  type EncodedBatch,
  type EncodingFailure,
  type EncodingTask,
  encodeBatch,
  failureOf,
} from './encode-batch.ts'
import { giveWay } from './priority.ts'

giveWay()

/** What a thread answers: the rows, or why there are none. */
export type Encoded = ({ readonly batch: EncodedBatch } | { readonly failure: EncodingFailure }) & {
  /** The body's memory, handed back. */
  readonly body: Uint8Array
}

/** Runs in a thread of the pool. The rows are handed over rather than copied. */
export function encodeInThread(task: EncodingTask): Encoded {
  try {
    const batch = encodeBatch(task)
    return handedOver({ batch, body: task.body }, [batch.rows.buffer, task.body.buffer])
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return handedOver({ failure: failureOf(error), body: task.body }, [task.body.buffer])
  }
}

/** An answer whose memory the pool moves to the thread that asked. */
function handedOver(encoded: Encoded, memory: ArrayBufferLike[]): Encoded {
  return move({
    get [transferableSymbol]() {
      return memory
    },
    get [valueSymbol]() {
      return encoded
    },
  }) as object as Encoded
}
