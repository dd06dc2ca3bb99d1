import { closeSync, mkdirSync, openSync, rmSync, writeSync } from 'node:fs'
import path from 'node:path'
import { type FileLock, tryLockFile } from '@atrium/kernel/db'
import { newId } from '@atrium/kernel/ids'

/** Announces a series; the calls that follow name it by its number. */
export interface SeriesLine {
  readonly series: number
  readonly spaceId: string
  readonly keyId: string
  readonly keyName: string
  readonly day: string
  readonly model: string
  readonly currency: string
}

/** One finished call: series, prompt, completion and cached tokens, cost in pico-units, 1 if estimated. */
export type CallLine = readonly [number, number, number, number, string, 0 | 1]

const SEGMENT = /^usage-([0-9a-f-]{36})\.jsonl$/

/** The journal that a file name stands for, if it is one. */
export const journalIdOf = (fileName: string): string | undefined => SEGMENT.exec(fileName)?.[1]

/** The writer holds this lock for as long as it lives; who gets it may take the segment over. */
const lockOf = (file: string): string => `${file}.lock`

/**
 * A file that grows by one line per finished call. A write that the kernel took survives the death of the
 * process, which is all that an acknowledgement needs; nothing waits for the disk.
 */
export class JournalSegment {
  readonly id = newId()
  readonly file: string
  bytes = 0
  readonly #lock: FileLock | undefined
  #fd: number | undefined
  #isTorn = false

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true })
    this.file = path.join(folder, `usage-${this.id}.jsonl`)
    this.#lock = tryLockFile(lockOf(this.file))
    this.#fd = openSync(this.file, 'ax', 0o600)
  }

  /** Synchronous. @throws Error when the file system refuses; the next call begins a new line */
  append(lines: string): void {
    if (this.#fd === undefined) throw new Error(`${this.file} is closed`)
    const text = this.#isTorn ? `\n${lines}` : lines
    this.#isTorn = true
    const written = writeSync(this.#fd, text)
    this.bytes += written
    if (written < Buffer.byteLength(text)) throw new Error('the disk took only a part of the line')
    this.#isTorn = false
  }

  /** Leaves the file to whoever comes next. */
  close(): void {
    if (this.#fd === undefined) return
    closeSync(this.#fd)
    this.#fd = undefined
    this.#lock?.release()
  }

  remove(): void {
    rmSync(this.file, { force: true })
    this.close()
    rmSync(lockOf(this.file), { force: true })
  }
}

/** A segment whose writer is dead, held against all others until `remove` or `release`. */
export interface AbandonedSegment {
  remove(): void
  release(): void
}

/** Undefined while its writer, or another process that takes it over, is alive. */
export function seizeSegment(file: string): AbandonedSegment | undefined {
  const lock = tryLockFile(lockOf(file))
  if (lock === undefined) return undefined
  return {
    remove() {
      rmSync(file, { force: true })
      lock.release()
      rmSync(lockOf(file), { force: true })
    },
    release: () => lock.release(),
  }
}
