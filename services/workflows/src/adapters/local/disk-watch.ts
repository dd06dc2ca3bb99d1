import { execFile } from 'node:child_process'
import { statfs } from 'node:fs/promises'
import { promisify } from 'node:util'
import { every } from '@atrium/kernel/lifecycle'
import type { RunRef } from '../../ports.ts'
import type { Folders } from './folders.ts'
import type { TaskLimits } from './limits.ts'

const LOOK_MS = 500
/** Folders are measured again after so many times as long as it took, and not before MEASURE_MS. */
const REST = 20
const MEASURE_MS = 5000
const MEASURE_AT_MOST_MS = 60_000

type Run = Omit<RunRef, 'attempt'>
const run = promisify(execFile)

/** Ends runs whose folder outgrows its limit, and, when the disk is nearly full, the one that takes most of it. */
export class DiskWatch {
  readonly #folders: Folders
  readonly #limits: TaskLimits
  readonly #end: (ref: Run) => void
  #nextMeasure = 0

  constructor(folders: Folders, limits: TaskLimits, end: (ref: Run) => void) {
    this.#folders = folders
    this.#limits = limits
    this.#end = end
  }

  /** @param running runs of which something runs now @returns how to stop watching */
  watch(running: () => readonly Run[]): () => Promise<void> {
    return every(
      LOOK_MS,
      () => this.#look(running),
      () => {},
    )
  }

  async #look(running: () => readonly Run[]): Promise<void> {
    const runs = new Map(running().map((ref) => [ref.runId, ref]))
    if (runs.size === 0) return
    const isFull = await this.#isNearlyFull()
    if (!isFull && Date.now() < this.#nextMeasure) return
    const began = Date.now()
    const sizes = await Promise.all(
      [...runs.values()].map(async (ref) => ({ ref, mb: await this.#measure(ref) })),
    )
    this.#nextMeasure = Date.now() + Math.max(MEASURE_MS, REST * (Date.now() - began))
    for (const { ref, mb } of sizes) if (mb > this.#limits.workspaceMb) this.#end(ref)
    if (!isFull) return
    const largest = sizes.reduce((a, b) => (b.mb > a.mb ? b : a))
    if (largest.mb > 0) this.#end(largest.ref)
  }

  async #isNearlyFull(): Promise<boolean> {
    const { bavail, bsize } = await statfs(this.#folders.root)
    return (bavail * bsize) / 2 ** 20 < this.#limits.diskReserveMb
  }

  /** @returns MiB; 0 where it cannot be told */
  async #measure(ref: Run): Promise<number> {
    const answer = await run('du', ['-skx', this.#folders.ofRun(ref)], { timeout: MEASURE_AT_MOST_MS }).catch(
      (error: { stdout?: string }) => ({ stdout: error.stdout ?? '' }),
    )
    return Number.parseInt(answer.stdout, 10) / 1024 || 0
  }
}
