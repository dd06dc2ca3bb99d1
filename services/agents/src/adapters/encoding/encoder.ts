import { availableParallelism } from 'node:os'
import type { BodyMemory } from '@atrium/kernel/http'
import { Piscina } from 'piscina'
import { SharedBodyMemory } from './body-memory.ts'
import { type EncodedBatch, type EncodingTask, encodeBatch, errorOf } from './encode-batch.ts'
import type { Encoded } from './worker.ts'

/** Smaller bodies are done before a thread would have got them. */
const SMALL_BODY_BYTES = 128 * 1024
/** Threads end when they have had nothing to do for so long, in milliseconds: a new one is slow for its first fifty batches. */
const IDLE_MS = 300_000

/** Makes rows of bodies. Large ones go to threads of their own, so that searches need not wait for them. */
export interface Encoder {
  /** For the bodies that `encode` gets. */
  readonly memory: BodyMemory
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
      maxThreads: Math.max(1, availableParallelism() - 1),
      idleTimeout: IDLE_MS,
    })
    return threads
  }
  return {
    memory: new SharedBodyMemory(),
    async encode(task) {
      if (task.body.length < SMALL_BODY_BYTES) return encodeBatch(task)
      const { buffer } = task.body
      const transferList = buffer instanceof ArrayBuffer ? [buffer] : []
      const encoded = await pool().run(task, { name: 'encodeInThread', transferList })
      if ('failure' in encoded) throw errorOf(encoded.failure)
      return encoded
    },
    async close() {
      await threads?.close()
    },
  }
}
