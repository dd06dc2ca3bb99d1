import { availableParallelism } from 'node:os'
import { Piscina } from 'piscina'
import { type EncodedBatch, type EncodingTask, encodeBatch, errorOf } from './encode-batch.ts'
import type { Encoded } from './worker.ts'

/** Smaller bodies are done before a thread would have got them. */
const SMALL_BODY_BYTES = 128 * 1024
/** Threads end when they have had nothing to do for so long, in milliseconds. */
const IDLE_MS = 10_000

/** Makes rows of bodies. Large ones go to threads of their own, so that searches need not wait for them. */
export interface Encoder {
  /** @throws AppError 400 */
  encode(task: EncodingTask): Promise<EncodedBatch>
  close(): Promise<void>
}

/** Bytes that can be handed over to a thread: they are no longer needed here. */
const ownMemory = (bytes: Uint8Array): Uint8Array<ArrayBuffer> =>
  bytes.buffer instanceof ArrayBuffer && bytes.byteLength === bytes.buffer.byteLength
    ? new Uint8Array(bytes.buffer)
    : new Uint8Array(bytes)

export function createEncoder(): Encoder {
  let threads: Piscina<EncodingTask, Encoded> | undefined
  const pool = () => {
    threads ??= new Piscina<EncodingTask, Encoded>({
      filename: new URL('./worker.ts', import.meta.url).href,
      minThreads: 0,
      maxThreads: Math.max(1, availableParallelism() - 1),
      idleTimeout: IDLE_MS,
    })
    return threads
  }
  return {
    async encode(task) {
      if (task.body.length < SMALL_BODY_BYTES) return encodeBatch(task)
      const body = ownMemory(task.body)
      const encoded = await pool().run(
        { ...task, body },
        {
          name: 'encodeInThread',
          transferList: [body.buffer],
        },
      )
      if ('failure' in encoded) throw errorOf(encoded.failure)
      return encoded.batch
    },
    async close() {
      await threads?.close()
    },
  }
}
