import { AppError } from '@atrium/kernel/errors'
import { move } from 'piscina'
import {
  type EncodedBatch,
  type EncodingFailure,
  type EncodingTask,
  encodeBatch,
  failureOf,
} from './encode-batch.ts'

/** What a thread answers: the rows, which are handed over rather than copied, or why there are none. */
export type Encoded = { readonly batch: EncodedBatch } | { readonly failure: EncodingFailure }

/** Runs in a thread of the pool. */
export function encodeInThread(task: EncodingTask): Encoded {
  try {
    const batch = encodeBatch(task)
    return { batch: { ...batch, rows: move(batch.rows as Uint8Array<ArrayBuffer>) as Uint8Array } }
  } catch (error) {
    if (error instanceof AppError) return { failure: failureOf(error) }
    throw error
  }
}
