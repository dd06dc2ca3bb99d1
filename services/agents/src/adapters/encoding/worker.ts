import { AppError } from '@atrium/kernel/errors'
import { free } from '@atrium/kernel/memory'
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
export type Encoded = EncodedBatch | { readonly failure: EncodingFailure }

/** Runs in a thread of the pool. The rows are handed over rather than copied. */
export function encodeInThread(task: EncodingTask): Encoded {
  try {
    return handedOver(encodeBatch(task))
  } catch (error) {
    if (error instanceof AppError) return { failure: failureOf(error) }
    throw error
  } finally {
    // Shared memory stays as it is: it is the other thread's to use again.
    free(task.body.buffer)
  }
}

/** A batch whose rows the pool moves to the thread that asked. */
function handedOver(batch: EncodedBatch): EncodedBatch {
  return move({
    get [transferableSymbol]() {
      return [batch.rows.buffer]
    },
    get [valueSymbol]() {
      return batch
    },
  }) as object as EncodedBatch
}
