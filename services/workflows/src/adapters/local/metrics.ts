import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { StringDecoder } from 'node:string_decoder'
import { every } from '@atrium/kernel/lifecycle'
import type { MetricPoint, TaskOutput, TaskRef } from '../../ports.ts'

const POINTS_AT_ONCE = 1000
const LONGEST_LINE = 4096
const LONGEST_NAME = 200
/** What is read of a file of metrics at most. */
const LARGEST_FILE = 64 * 2 ** 20
/** Read at once. */
const PIECE = 256 * 1024
/** While the task runs, what it has added is read so often, and so much of it. */
const LOOK_EVERY_MS = 2000
const PIECES_A_LOOK = 4

/** @returns undefined for a line that is no point */
function pointOf(line: string): MetricPoint | undefined {
  if (line.length > LONGEST_LINE) return undefined
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return undefined
  }
  const { name, step = null, value: number } = (value ?? {}) as Record<string, unknown>
  const isStep = step === null || (Number.isSafeInteger(step) && (step as number) >= 0)
  if (typeof name !== 'string' || name === '' || name.length > LONGEST_NAME || name.includes('\0'))
    return undefined
  if (typeof number !== 'number' || !Number.isFinite(number) || !isStep) return undefined
  return { name, step: step as number | null, value: number }
}

/** How far a file has been read, and which it was. */
interface Place {
  readonly file: string
  readonly offset: number
}

/** The file is not the one that was read before, or was cut. */
class Rewritten extends Error {}

/** The numbers of one start of a task: kept while it runs, and to the end when it has ended. */
export class TaskMetrics {
  readonly #output: TaskOutput
  readonly #ref: TaskRef
  readonly #file: string
  #at: Place | undefined
  #decoder = new StringDecoder('utf8')
  /** The beginning of a line whose end is not there yet. */
  #rest = ''
  #wrong = 0
  #dropped = 0
  /** What is on record is not what the file says: it is read from the beginning at the end. */
  #isAstray = false

  constructor(output: TaskOutput, ref: TaskRef, file: string) {
    this.#output = output
    this.#ref = ref
    this.#file = file
  }

  /**
   * Keeps what comes from now on.
   * @param signal once it is aborted the task may be somebody else's
   * @returns what ends that, and waits for what is under way
   */
  follow(signal: AbortSignal): () => Promise<void> {
    return every(
      LOOK_EVERY_MS,
      async () => {
        if (!signal.aborted && !this.#isAstray && this.#dropped === 0) await this.#read(PIECES_A_LOOK)
      },
      () => {
        this.#isAstray = true
      },
    )
  }

  /** Keeps what is left. Nothing of the task runs any more. @param say tells people what is not kept */
  async finish(say: (line: string) => void): Promise<void> {
    if (!this.#isAstray) await this.#readToEnd()
    if (this.#isAstray) {
      await this.#output.begin(this.#ref)
      this.#at = undefined
      this.#decoder = new StringDecoder('utf8')
      this.#rest = ''
      this.#wrong = 0
      this.#dropped = 0
      await this.#read(Number.POSITIVE_INFINITY)
    }
    await this.#keep([`${this.#rest}${this.#decoder.end()}`])
    if (this.#wrong > 0) {
      say(
        `${this.#wrong} lines of $ATRIUM_METRICS are not kept: a line is {"name": …, "step": a whole number or absent, "value": a number}`,
      )
    }
    if (this.#dropped > 0) say(`${this.#dropped} metrics are not kept: there are too many`)
    if ((this.#at?.offset ?? 0) >= LARGEST_FILE)
      say(`$ATRIUM_METRICS is read up to ${LARGEST_FILE / 2 ** 20} MiB`)
  }

  async #readToEnd(): Promise<void> {
    try {
      await this.#read(Number.POSITIVE_INFINITY)
    } catch (error) {
      if (!(error instanceof Rewritten)) throw error
      this.#isAstray = true
    }
  }

  /** Reads on. @throws Rewritten */
  async #read(pieces: number): Promise<void> {
    // A task may have put anything there.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
    const handle = await open(this.#file, flags).catch(() => undefined)
    if (handle === undefined) return
    try {
      await this.#readFrom(handle, pieces)
    } finally {
      await handle.close()
    }
  }

  async #readFrom(handle: FileHandle, pieces: number): Promise<void> {
    const stat = await handle.stat()
    if (!stat.isFile()) return
    const file = `${stat.dev}:${stat.ino}`
    const before = this.#at ?? { file, offset: 0 }
    if (before.file !== file || stat.size < before.offset) throw new Rewritten()
    const end = Math.min(stat.size, LARGEST_FILE)
    let { offset } = before
    for (let piece = 0; piece < pieces && offset < end; piece++) {
      const wanted = Math.min(PIECE, end - offset)
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(wanted), 0, wanted, offset)
      if (bytesRead === 0) break
      offset += bytesRead
      this.#at = { file, offset }
      const lines = (this.#rest + this.#decoder.write(buffer.subarray(0, bytesRead))).split('\n')
      this.#rest = (lines.pop() ?? '').slice(0, LONGEST_LINE + 1)
      await this.#keep(lines)
    }
  }

  async #keep(lines: readonly string[]): Promise<void> {
    const points: MetricPoint[] = []
    for (const line of lines) {
      if (line.trim() === '') continue
      const point = pointOf(line)
      if (point === undefined) this.#wrong++
      else points.push(point)
    }
    for (let at = 0; at < points.length; at += POINTS_AT_ONCE)
      this.#dropped += await this.#output.appendMetrics(this.#ref, points.slice(at, at + POINTS_AT_ONCE))
  }
}
