const LF = 0x0a
const CR = 0x0d
const EMPTY = Buffer.alloc(0)
const FIRST_CAPACITY = 4096
/** What is kept between two events; more is given back. */
const KEPT_CAPACITY = 65_536

/**
 * Cuts server-sent events at their ends (lines end with LF, CRLF or CR), in time linear in the bytes, however small the
 * chunks are in which they come.
 */
export class EventCutter {
  /** Bytes of an event that is not complete, in a buffer that doubles as it fills. */
  #held: Buffer = EMPTY
  #heldBytes = 0

  get heldBytes(): number {
    return this.#heldBytes
  }

  /** The events that are complete with this chunk; perhaps none. */
  push(chunk: Buffer): Buffer {
    const cut = this.#endOfLastEvent(chunk)
    if (cut === chunk.length) return this.#take(chunk)
    if (cut === 0) {
      this.#hold(chunk)
      return EMPTY
    }
    const events = this.#take(chunk.subarray(0, cut))
    this.#hold(chunk.subarray(cut))
    return events
  }

  /** What is held. */
  rest(): Buffer {
    return this.#take(EMPTY)
  }

  #hold(part: Buffer): void {
    const bytes = this.#heldBytes + part.length
    if (bytes > this.#held.length) {
      const larger = Buffer.allocUnsafe(Math.max(FIRST_CAPACITY, this.#held.length * 2, bytes))
      this.#held.copy(larger, 0, 0, this.#heldBytes)
      this.#held = larger
    }
    part.copy(this.#held, this.#heldBytes)
    this.#heldBytes = bytes
  }

  #take(last: Buffer): Buffer {
    if (this.#heldBytes === 0) return last
    const all = Buffer.concat([this.#held.subarray(0, this.#heldBytes), last])
    this.#heldBytes = 0
    if (this.#held.length > KEPT_CAPACITY) this.#held = EMPTY
    return all
  }

  /** Index after the last blank line of `chunk`, which may begin in what is held; 0 when there is none. */
  #endOfLastEvent(chunk: Buffer): number {
    const { length } = chunk
    if (length > 1 && chunk[length - 1] === LF && chunk[length - 2] === LF) return length
    let lf = chunk.lastIndexOf(LF)
    let cr = chunk.lastIndexOf(CR)
    while (lf !== -1 || cr !== -1) {
      const end = Math.max(lf, cr)
      const before = this.#byteAt(chunk, end - 1)
      // CR and LF are one end of a line: the byte before both says whether that line is blank.
      const other = end === lf && before === CR ? this.#byteAt(chunk, end - 2) : before
      if (other === LF || other === CR) return end + 1
      if (end === lf) lf = end === 0 ? -1 : chunk.lastIndexOf(LF, end - 1)
      else cr = end === 0 ? -1 : chunk.lastIndexOf(CR, end - 1)
    }
    return 0
  }

  /** Of the chunk, or below 0 of what is held. */
  #byteAt(chunk: Buffer, index: number): number | undefined {
    if (index >= 0) return chunk[index]
    const at = this.#heldBytes + index
    return at < 0 ? undefined : this.#held[at]
  }
}
