import { statfs } from 'node:fs/promises'
import { every } from '@atrium/kernel/lifecycle'
import type { RunRef } from '../../ports.ts'
import type { Folders } from './folders.ts'
import type { Holdings } from './holdings.ts'
import type { TaskLimits } from './limits.ts'
import { heldBy, type Size, sizeOf } from './measure.ts'
import type { SpaceUse } from './space-use.ts'

const LOOK_MS = 500
/** Folders are measured again after so many times as long as it took, and not before MEASURE_MS. */
const REST = 20
const MEASURE_MS = 5000

type Run = Omit<RunRef, 'attempt'>
type End = (ref: Run, reason: 'disk' | 'files') => void

interface Deps {
  readonly folders: Folders
  readonly holdings: Holdings
  readonly use: SpaceUse
  readonly limits: TaskLimits
}

interface Measured {
  readonly ref: Run
  readonly named: Size
  /** Of files that are open and have no name. */
  readonly nameless: Size
}

const mbOf = ({ named, nameless }: Measured): number => named.mb + nameless.mb
const filesOf = ({ named, nameless }: Measured): number => named.files + nameless.files

/**
 * Ends runs whose folder outgrows its limits. When the disk is nearly full, the space that holds most gives: folders of
 * failed runs, then its largest run that goes on.
 */
export class DiskWatch {
  readonly #deps: Deps
  readonly #end: End
  #nextMeasure = 0

  constructor(deps: Deps, end: End) {
    this.#deps = deps
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
    const measured = await Promise.all([...runs.values()].map((ref) => this.#measure(ref)))
    this.#nextMeasure = Date.now() + Math.max(MEASURE_MS, REST * (Date.now() - began))
    const { workspaceMb, workspaceFiles } = this.#deps.limits
    for (const run of measured) {
      if (mbOf(run) > workspaceMb) this.#end(run.ref, 'disk')
      else if (filesOf(run) > workspaceFiles) this.#end(run.ref, 'files')
    }
    if (isFull) await this.#makeRoom(measured)
  }

  async #isNearlyFull(): Promise<boolean> {
    const { bavail, bsize } = await statfs(this.#deps.folders.root)
    return (bavail * bsize) / 2 ** 20 < this.#deps.limits.diskReserveMb
  }

  /** Takes one thing from the space that holds most; the next look takes the next. */
  async #makeRoom(measured: readonly Measured[]): Promise<void> {
    const { use } = this.#deps
    await use.catchUp()
    const ofSpace = Map.groupBy(measured, ({ ref }) => ref.spaceId)
    for (const spaceId of ofSpace.keys()) await use.measure(spaceId)
    const totals = use.known()
    for (const [spaceId, runs] of ofSpace) {
      const nameless = runs.reduce((sum, run) => sum + run.nameless.mb, 0)
      totals.set(spaceId, (totals.get(spaceId) ?? 0) + nameless)
    }
    for (const [spaceId] of [...totals].sort(([, a], [, b]) => b - a)) {
      if ((await use.giveUpOldest(spaceId)) !== undefined) {
        await use.measure(spaceId)
        return
      }
      const [largest] = (ofSpace.get(spaceId) ?? []).sort((a, b) => mbOf(b) - mbOf(a))
      if (largest === undefined || mbOf(largest) === 0) continue
      this.#end(largest.ref, 'disk')
      return
    }
  }

  /** Its folder, what its programs write to besides, and what they hold that has no name any more. */
  async #measure(ref: Run): Promise<Measured> {
    const { holdings, folders } = this.#deps
    const held = holdings.of(ref.runId)
    const places = new Set([folders.ofRun(ref), ...held.flatMap((holding) => holding.folders)])
    const pids = held.map(({ pid }) => pid)
    const [named, nameless] = await Promise.all([sizeOf([...places]), heldBy(pids, folders.root)])
    return { ref, named, nameless }
  }
}
