import type { BodyMemory } from '@atrium/kernel/http'
import { free } from '@atrium/kernel/memory'

const MIB = 1024 * 1024
/** Smaller bodies are cheap, larger ones rare: neither is worth keeping memory for. */
const LEAST_BYTES = MIB
const MOST_BYTES = 32 * MIB
/** Memory that waits for the next bodies, at most. */
const MOST_WAITING_BYTES = 128 * MIB
/** How long it waits, in milliseconds. */
const WAIT_MS = 30_000

/**
 * Memory for the bodies of batches, used again and again, and shared with the threads that read them. Memory of one
 * thread counts for its garbage collector, which looks through the whole heap for every 64 MB of it that come or are
 * handed over: with some bodies under way at once, four times a second.
 */
export class SharedBodyMemory implements BodyMemory {
  #waiting: SharedArrayBuffer[] = []
  #timer: NodeJS.Timeout | undefined

  take(bytes: number): Buffer {
    if (bytes < LEAST_BYTES || bytes > MOST_BYTES) return Buffer.allocUnsafeSlow(bytes)
    const fits = this.#waiting
      .filter(({ byteLength }) => byteLength >= bytes && byteLength <= 4 * bytes)
      .sort((a, b) => a.byteLength - b.byteLength)[0]
    this.#waiting = this.#waiting.filter((one) => one !== fits)
    // The next bodies are likely to be a little larger or smaller.
    return Buffer.from(fits ?? new SharedArrayBuffer(Math.ceil((1.2 * bytes) / MIB) * MIB))
  }

  giveBack({ buffer }: Uint8Array): void {
    if (!(buffer instanceof SharedArrayBuffer)) {
      free(buffer)
      return
    }
    this.#waiting.push(buffer)
    let total = this.#waiting.reduce((sum, { byteLength }) => sum + byteLength, 0)
    while (total > MOST_WAITING_BYTES) total -= this.#waiting.shift()?.byteLength ?? 0
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#waiting = []
    }, WAIT_MS)
    this.#timer.unref()
  }
}
