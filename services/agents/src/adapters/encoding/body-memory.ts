import { release } from '@atrium/kernel/http'

/** Smaller bodies are left to the garbage collector. */
const LEAST_BYTES = 1024 * 1024
/** Memory that waits for the next bodies, at most. */
const MOST_WAITING_BYTES = 160 * 1024 * 1024
/** How long it waits, in milliseconds. */
const WAIT_MS = 10_000

/**
 * Memory for the bodies of batches, used again and again: fresh memory for each makes V8 look through its whole heap
 * every 64 MB, and the kernel zero it.
 */
export class BodyMemory {
  #waiting: ArrayBuffer[] = []
  #timer: NodeJS.Timeout | undefined

  /** Memory of at least so many bytes, with anything in it. */
  readonly take = (bytes: number): Buffer => {
    if (bytes < LEAST_BYTES) return Buffer.allocUnsafeSlow(bytes)
    const fits = this.#waiting
      .filter(({ byteLength }) => byteLength >= bytes && byteLength <= 4 * bytes)
      .sort((a, b) => a.byteLength - b.byteLength)[0]
    if (fits === undefined) {
      // The next bodies are likely to be a little larger or smaller.
      const size = Math.ceil((1.2 * bytes) / LEAST_BYTES) * LEAST_BYTES
      return Buffer.from(new ArrayBuffer(size))
    }
    this.#waiting = this.#waiting.filter((one) => one !== fits)
    return Buffer.from(fits)
  }

  /** Takes memory back that nobody reads any more. */
  giveBack(bytes: Uint8Array): void {
    const { buffer } = bytes
    if (!(buffer instanceof ArrayBuffer) || buffer.byteLength < LEAST_BYTES) return
    this.#waiting.push(buffer)
    let total = this.#waiting.reduce((sum, { byteLength }) => sum + byteLength, 0)
    while (total > MOST_WAITING_BYTES) {
      const oldest = this.#waiting.shift()
      if (oldest === undefined) break
      total -= oldest.byteLength
      release(new Uint8Array(oldest))
    }
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#forget(), WAIT_MS)
    this.#timer.unref()
  }

  #forget(): void {
    for (const one of this.#waiting) release(new Uint8Array(one))
    this.#waiting = []
  }
}
