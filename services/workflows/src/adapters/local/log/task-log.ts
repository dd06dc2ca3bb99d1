import type { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { isUnavailable } from '@atrium/kernel/errors'
import type { TaskOutput, TaskRef } from '../../../ports.ts'
import { LineCutter } from './line-cutter.ts'
import type { Mask } from './mask.ts'

const LARGEST_PIECE = 64 * 1024
/** What waits for the store at most, but for the pieces that are read already. */
const WAITING = 512 * 1024
const EVERY_MS = 150
const TAIL = 2000
const PATIENCE_MS = 10 * 60_000

/** The last lines of what a program said. */
export class Tail {
  #text = ''

  add(text: string): void {
    if (text !== '') this.#text = (this.#text + text.slice(-2 * TAIL)).slice(-2 * TAIL)
  }

  /** At most 2,000 characters. */
  get text(): string {
    const cut = this.#text.slice(-TAIL)
    const from = cut.length < this.#text.length ? cut.indexOf('\n') + 1 : 0
    return cut.slice(from).trimEnd()
  }
}

/** The log of a task's attempt: collects lines and hands them on in pieces. Readers wait while the store is slow. */
export class TaskLog {
  readonly #output: TaskOutput
  readonly #ref: TaskRef
  readonly #mask: Mask
  #waiting = ''
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> | undefined
  #failure: unknown

  constructor(output: TaskOutput, ref: TaskRef, mask: Mask) {
    this.#output = output
    this.#ref = ref
    this.#mask = mask
  }

  /** Masks and escapes a text for other places than the log. */
  shown(text: string): string {
    const cutter = new LineCutter(this.#mask)
    return (cutter.write(Buffer.from(text)) + cutter.end()).trimEnd()
  }

  line(text: string): void {
    const cutter = new LineCutter(this.#mask)
    this.#add(cutter.write(Buffer.from(text)) + cutter.end())
  }

  /**
   * Takes in what a program says. Resolves when the stream has ended, however it ended.
   * @param isLogged false: only the tail gets it
   */
  async follow(stream: Readable, tail: Tail, isLogged = true): Promise<void> {
    const cutter = new LineCutter(this.#mask)
    const take = (text: string): void => {
      tail.add(text)
      if (isLogged) this.#add(text)
    }
    stream.on('data', (bytes: Buffer) => {
      take(cutter.write(bytes))
      if (this.#waiting.length < WAITING) return
      stream.pause()
      void this.#drained().then(() => stream.resume())
    })
    await finished(stream, { error: false, writable: false }).catch(() => {})
    take(cutter.end())
  }

  /** Hands on what waits. @throws when the store refused something */
  async flush(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    while (this.#waiting !== '' || this.#sending !== undefined) await this.#send()
    if (this.#failure !== undefined) throw this.#failure
  }

  #add(text: string): void {
    if (text === '') return
    this.#waiting += text
    if (this.#waiting.length >= LARGEST_PIECE) void this.#send()
    else this.#timer ??= setTimeout(() => void this.#send(), EVERY_MS)
  }

  async #drained(): Promise<void> {
    while (this.#waiting.length >= LARGEST_PIECE) await this.#send()
  }

  #send(): Promise<void> {
    this.#sending ??= this.#sendNow().finally(() => {
      this.#sending = undefined
    })
    return this.#sending
  }

  async #sendNow(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    while (this.#waiting !== '') {
      const piece = firstPiece(this.#waiting)
      this.#waiting = this.#waiting.slice(piece.length)
      if (this.#failure === undefined) await this.#keep(piece)
    }
  }

  /** Waits for a database that is away. What the store refuses is lost, and the end of the task says so. */
  async #keep(piece: string): Promise<void> {
    const until = Date.now() + PATIENCE_MS
    for (;;) {
      try {
        return await this.#output.appendLog(this.#ref, piece)
      } catch (error) {
        if (!isUnavailable(error) || Date.now() > until) {
          this.#failure = error
          return
        }
        await delay(1000)
      }
    }
  }
}

/** Whole lines of at most 64 KiB of UTF-8. Lines are much shorter than that. */
function firstPiece(text: string): string {
  let piece = text.slice(0, LARGEST_PIECE)
  while (Buffer.byteLength(piece) > LARGEST_PIECE) piece = piece.slice(0, piece.length >> 1)
  return piece.slice(0, piece.lastIndexOf('\n') + 1)
}
