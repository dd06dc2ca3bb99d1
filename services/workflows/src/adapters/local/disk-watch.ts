import { statfs } from 'node:fs/promises'
import { every } from '@atrium/kernel/lifecycle'
import type { RunRef } from '../../ports.ts'
import type { Folders } from './folders.ts'
import type { Holdings } from './holdings.ts'
import type { TaskLimits } from './limits.ts'
import { heldBy, type Size, sizeOf } from './measure.ts'

const LOOK_MS = 500
/** Folders are measured again after so many times as long as it took, and not before MEASURE_MS. */
const REST = 20
const MEASURE_MS = 5000

type Run = Omit<RunRef, 'attempt'>

/** Ends runs whose folder outgrows its limit, and, when the disk is nearly full, the one that takes most of it. */
export class DiskWatch {
  readonly #folders: Folders
  readonly #holdings: Holdings
  readonly #limits: TaskLimits
  readonly #end: (ref: Run) => void
  #nextMeasure = 0

  constructor(folders: Folders, holdings: Holdings, limits: TaskLimits, end: (ref: Run) => void) {
    this.#folders = folders
    this.#holdings = holdings
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
      [...runs.values()].map(async (ref) => ({ ref, ...(await this.#measure(ref)) })),
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

  /** Its folder, what its programs write to besides, and what they hold that has no name any more. */
  async #measure(ref: Run): Promise<Size> {
    const held = this.#holdings.of(ref.runId)
    const folders = new Set([this.#folders.ofRun(ref), ...held.flatMap((holding) => holding.folders)])
    const pids = held.map(({ pid }) => pid)
    const [named, nameless] = await Promise.all([sizeOf([...folders]), heldBy(pids, this.#folders.root)])
    return { mb: named.mb + nameless.mb, files: named.files + nameless.files }
  }
}
