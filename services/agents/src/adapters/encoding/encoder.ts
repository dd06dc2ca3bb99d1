import { availableParallelism } from 'node:os'
import { Piscina } from 'piscina'
import { BodyMemory } from './body-memory.ts'
import { type EncodedBatch, type EncodingTask, encodeBatch, errorOf } from './encode-batch.ts'
import type { Encoded } from './worker.ts'

/** Smaller bodies are done before a thread would have got them. */
const SMALL_BODY_BYTES = 128 * 1024
/** Threads end when they have had nothing to do for so long, in milliseconds. */
const IDLE_MS = 10_000

/** Makes rows of bodies. Large ones go to threads of their own, so that searches need not wait for them. */
export interface Encoder {
  /** Memory for a body of so many bytes, which `encode` takes back. */
  take(bytes: number): Buffer
  /** @throws AppError 400 */
  encode(task: EncodingTask): Promise<EncodedBatch>
  close(): Promise<void>
}

export function createEncoder(): Encoder {
  let threads: Piscina<EncodingTask, Encoded> | undefined
  const pool = () => {
    threads ??= new Piscina<EncodingTask, Encoded>({
      filename: new URL('./worker.ts', import.meta.url).href,
      minThreads: 0,
      maxThreads: availableParallelism(),
      idleTimeout: IDLE_MS,
    })
    return threads
  }
  const memory = new BodyMemory()
  return {
    take: memory.take,
    async encode(task) {
      if (task.body.length < SMALL_BODY_BYTES) return encodeBatch(task)
      const encoded = await pool().run(task, {
        name: 'encodeInThread',
        transferList: [task.body.buffer as ArrayBuffer],
      })
      memory.giveBack(encoded.body)
      if ('failure' in encoded) throw errorOf(encoded.failure)
      return encoded.batch
    },
    async close() {
      await threads?.close()
    },
  }
}
